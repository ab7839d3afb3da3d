// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_MODULE_MEMORY_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_MODULE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/software/ptx/ast.h"
#include "core/software/runtime/window.h"

namespace holdfast::software {

// The .global and .const variables of a module, initialised, in memory of their
// own in the window. Immutable but for the bytes.
class ModuleMemory {
 public:
  // Null, with the reason in *error: a variable of another module, or no
  // memory.
  static std::unique_ptr<ModuleMemory> Create(const ptx::Module& module,
                                              std::string* error);
  ModuleMemory(const ModuleMemory&) = delete;
  ModuleMemory& operator=(const ModuleMemory&) = delete;

  // By index into Module::variables. 0 for .shared variables, whose places
  // depend on the kernel.
  const std::vector<uint64_t>& addresses() const { return addresses_; }

 private:
  explicit ModuleMemory(const ptx::Module& module);
  bool LayOut(std::string* error);
  bool Initialise(std::string* error);

  const ptx::Module& module_;
  std::vector<uint64_t> addresses_;
  uint64_t bytes_ = 0;
  std::unique_ptr<WindowMemory> memory_;  // null: no variables
};

inline uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_MODULE_MEMORY_H_
