// SPDX-License-Identifier: Apache-2.0
//
// Compiles one kernel for one block shape to machine code. No type of LLVM
// appears in this header.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_COMPILER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_COMPILER_H_

#include <memory>
#include <optional>
#include <string>

#include "core/software/abi/abi.h"
#include "core/software/analysis/divergence.h"
#include "core/software/jit/access_site.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::jit {

// The generated code of a kernel. The destructor unmaps the code.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  // The function that runs the kernel. Valid as long as this object.
  virtual KernelFunction* function() const = 0;
  // Returns the memory access at which a CPU stopped in the state `state`;
  // nullopt if it did not stop at an access of this code. Thread-safe.
  virtual std::optional<MachineAccess> Find(
      const MachineState& state) const = 0;
};

// Compiles the full code of a kernel for blocks of the shape `block`. Masked
// code may be compiled later, when lanes first diverge, so that `kernel` must
// outlive the result. Blocks for up to seconds. Returns null and sets *error on
// failure. Thread-safe.
//
// Loads the object from the ObjectCache, or generates it and stores it there.
// So objects refer to variables and runtime functions only by symbols. The only
// address in them is the address of the window (abi/window.h), which is part of
// the key in the cache.
std::unique_ptr<CompiledKernel> Compile(const lower::Kernel& kernel,
                                        const analysis::BlockShape& block,
                                        std::string* error);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_COMPILER_H_
