// SPDX-License-Identifier: Apache-2.0
//
// Turns a lowered kernel into LLVM functions for one block shape.
//
// The first loops over blocks and warps. It has the full code, in which all 32
// lanes of a warp go the same way, as chunks of vectors. It calls the second,
// which has the masked code, where lanes diverge. Both share a frame in memory
// (warp_frame.h) on the stack of the full function. See core/software/README.md
// for the two modes, and README.md here for the classes that emit them.
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

  // Adds full code and one of masked code: `part`, or the one that takes most
  // room in the frame that they share. On failure returns the reason, with
  // line:column. Called once.
  //
  // Both are always emitted, since each needs to know of the other: masked code
  // has an entry for each place where full code leaves, and the frame has room
  // for what either of them keeps there. The compiler then drops the body that
  // it did not ask for.
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
