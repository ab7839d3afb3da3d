// SPDX-License-Identifier: Apache-2.0
//
// The set of emitters for one LLVM function. The full path and the masked path
// share it.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_FUNCTION_EMITTERS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_FUNCTION_EMITTERS_H_

#include "core/software/jit/barrier_emitter.h"
#include "core/software/jit/instruction_emitter.h"
#include "core/software/jit/pending_lanes.h"

namespace holdfast::software::jit {

struct FunctionEmitters {
  explicit FunctionEmitters(const EmitContext& shared)
      : context(shared),
        values(context.b),
        runtime(context),
        registers(context, &notes),
        instructions(context, registers, notes),
        pending(context),
        barriers(context, instructions.operands(), registers) {}
  FunctionEmitters(const FunctionEmitters&) = delete;
  FunctionEmitters& operator=(const FunctionEmitters&) = delete;

  EmitContext context;
  const LaneValues values;
  const RuntimeCalls runtime;
  BlockNotes notes;
  Registers registers;
  InstructionEmitter instructions;
  const PendingLanes pending;
  const BarrierEmitter barriers;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_FUNCTION_EMITTERS_H_
