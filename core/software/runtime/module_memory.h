// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_MODULE_MEMORY_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_MODULE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/software/abi/window.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software {

// The memory of a module's .global and .const variables, in the window
// (abi/window.h). The object is immutable, but kernels change the bytes.
class ModuleMemory {
 public:
  // Allocates and initialises the variables. Returns null, and sets *error to
  // the reason, if a variable is defined in another module, the variables are
  // too large, an initialiser is invalid, or there is no memory. `module` must
  // outlive the result.
  static std::unique_ptr<ModuleMemory> Create(const ptx::Module& module,
                                              std::string* error);
  ~ModuleMemory();
  ModuleMemory(const ModuleMemory&) = delete;
  ModuleMemory& operator=(const ModuleMemory&) = delete;

  // The addresses of the variables, by index into Module::variables. The
  // address is 0 for .shared variables, whose addresses depend on the kernel.
  const std::vector<uint64_t>& addresses() const { return addresses_; }

 private:
  explicit ModuleMemory(const ptx::Module& module);
  // Assigns the addresses, and maps the memory.
  bool LayOut(std::string* error);
  // Writes the initial values.
  bool Initialise(std::string* error);
  // In memcheck mode, adds the variables to the buffers. Otherwise does
  // nothing.
  void Publish();

  const ptx::Module& module_;
  std::vector<uint64_t> addresses_;
  uint64_t bytes_ = 0;
  std::unique_ptr<WindowMemory> memory_;  // null: no variables
};

// Returns the least multiple of `alignment` that is not less than `value`.
inline uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_MODULE_MEMORY_H_
