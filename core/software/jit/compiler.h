// SPDX-License-Identifier: Apache-2.0
//
// Machine code for one kernel and one block shape. LLVM ends at this header.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_COMPILER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_COMPILER_H_

#include <memory>
#include <optional>
#include <string>

#include "core/software/analysis/divergence.h"
#include "core/software/jit/access_site.h"
#include "core/software/lower/kernel.h"
#include "core/software/runtime/abi.h"

namespace holdfast::software::jit {

// Generated code; unmapped when destroyed.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  virtual KernelFunction* function() const = 0;
  // The access at which the CPU stopped; nothing if that was not in this code.
  virtual std::optional<MachineAccess> Find(
      const MachineState& state) const = 0;
};

// Thread-safe. `kernel` must outlive the code: what runs when lanes part is
// made when that first happens. On failure returns null and says why in *error.
// Takes objects from the cache on disk if it has it, and puts it there: so code
// holds no address of this process but symbols, the variables' and the
// runtime's, and that of the window, by which objects are kept apart.
std::unique_ptr<CompiledKernel> Compile(const lower::Kernel& kernel,
                                        const analysis::BlockShape& block,
                                        std::string* error);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_COMPILER_H_
