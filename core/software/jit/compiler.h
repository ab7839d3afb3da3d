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

// Generated code; unmapped when destroyed.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  virtual KernelFunction* function() const = 0;
  // Returns the access at which the CPU stopped; nullopt if it did not stop in
  // this code.
  virtual std::optional<MachineAccess> Find(
      const MachineState& state) const = 0;
};

// Compiles the full code of a kernel. Masked code is compiled when lanes first
// diverge, so `kernel` must outlive the result. Returns null and sets *error on
// failure. Thread-safe.
//
// Loads an object from the cache on disk if it is there, else stores it there.
// So code refers to variables and runtime functions by symbols only. The one
// address in code is the window's, which is part of the cache's key.
std::unique_ptr<CompiledKernel> Compile(const lower::Kernel& kernel,
                                        const analysis::BlockShape& block,
                                        std::string* error);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_COMPILER_H_
