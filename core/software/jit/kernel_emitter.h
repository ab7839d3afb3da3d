// SPDX-License-Identifier: Apache-2.0
//
// Emits the LLVM functions of a lowered kernel, for one block shape.
//
// The full function loops over blocks and warps. It has the full code, in which
// all 32 lanes of a warp take the same path, and registers are vectors of
// chunks. Where lanes diverge, the full function calls the masked function,
// which has the masked code. Both functions share a frame (warp_frame.h) on the
// stack of the full function. core/software/README.md describes the two modes,
// and README.md in this folder the classes that emit them.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_EMITTER_H_

#include <optional>
#include <string>

#include "core/software/jit/emit_context.h"
#include "core/software/jit/part.h"

namespace holdfast::software::jit {

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module* module, const lower::Kernel& kernel,
                const analysis::BlockShape& block, const Cpu& cpu);

  // Adds two functions to the module: full code, and the masked code of `part`.
  // For Part::kFull, this is the masked code that needs most room in the frame.
  // Returns nullopt, or on failure the reason as "line:column: reason". Called
  // once.
  //
  // Emits both functions, because each depends on the other: masked code has an
  // entry for each exit of full code, and the frame has room for the fields of
  // both. The compiler then drops the function that it does not need.
  std::optional<std::string> Emit(Part part);

 private:
  EmitContext ContextOf(analysis::Mode mode);

  const lower::Kernel& kernel_;
  const analysis::BlockShape block_;
  const Cpu cpu_;
  Builder b_;
  const KernelFacts facts_;
  WarpFrame layout_;
  std::optional<std::string> error_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_EMITTER_H_
