// SPDX-License-Identifier: Apache-2.0
//
// Emits calls of functions that the runtime provides (printf, malloc, ...), and
// traps.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_CALL_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_CALL_EMITTER_H_

#include "core/software/jit/operands.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

class CallEmitter {
 public:
  CallEmitter(const EmitContext& context, const Operands& operands)
      : c_(context),
        b_(context.b),
        v_(context.b),
        arrays_(context.b),
        runtime_(context),
        operands_(operands) {}

  // Emits a call with the operands `[d,] function, arguments...`, for all
  // running lanes at once.
  void EmitCall(const Step& step) const;
  // Emits a trap, which ends the launch if any lane runs it.
  void EmitTrap(const Step& step) const;
  // Emits a call that lets other warps run once.
  void EmitYield() const;
  // Emits a call that lets the other warps catch up if the instruction is the
  // warp's first early store after a barrier. Emits nothing if the instruction
  // is no early store (analysis/early_stores.h).
  void LetOthersRead(const Step& step) const;

 private:
  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const LaneArrays arrays_;
  const RuntimeCalls runtime_;
  const Operands& operands_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_CALL_EMITTER_H_
