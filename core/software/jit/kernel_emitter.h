// SPDX-License-Identifier: Apache-2.0
//
// Turns a lowered kernel into LLVM functions for one block shape.
//
// The full function loops over blocks and warps. It has the full code, in which
// all 32 lanes of a warp take the same path, as chunks of vectors. Where lanes
// diverge, it calls the masked function, which has the masked code. Both share
// a frame in memory (warp_frame.h) on the stack of the full function. See
// core/software/README.md for the two modes, and README.md here for the classes
// that emit them.
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

  // Adds two functions to the module: full code, and the masked code of `part`;
  // for Part::kFull, the masked code that needs most room in the shared frame.
  // Returns the reason, with line:column, on failure. Called once.
  //
  // Both functions are always emitted, because each depends on the other:
  // masked code has an entry for each exit of full code, and the frame has room
  // for the fields of both. The compiler then drops the function that it does
  // not need.
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
