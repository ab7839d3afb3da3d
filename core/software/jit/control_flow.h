// SPDX-License-Identifier: Apache-2.0
//
// The interface of code generators for control flow. The three implementations,
// FullPath, MaskedPath and ScalarLoopPath, emit a branch in different ways.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_CONTROL_FLOW_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_CONTROL_FLOW_H_

#include "core/software/jit/active_lanes.h"
#include "core/software/jit/function_emitters.h"

namespace holdfast::software::jit {

class ControlFlow {
 public:
  virtual ~ControlFlow() = default;

  // Returns the lanes that run a block.
  virtual ActiveLanes lanes() const = 0;
  // Ends block `k` with its branch; null: control falls through. `rotate` is
  // the result of BarrierEmitter::YieldInLoop for a branch backward, else null.
  virtual void Branch(const ptx::Instruction* instruction, size_t k,
                      llvm::Value* rotate) = 0;
  // Ends block `k`, which is one instruction where lanes wait for each other.
  virtual void Converge(const Step& step) = 0;
  // Called before each instruction that is no branch. Makes a place where other
  // code can enter in front of the instruction, if there is such code.
  virtual void EnterInFrontOf(const ptx::Instruction& instruction) = 0;
};

// Emits block `k` of the kernel at the insertion point, for `flow`. Clears
// `emitters.notes` first, because they hold within one block only. Emits a
// check for a cancelled launch at each branch backward, because these make the
// loops.
void EmitBlock(FunctionEmitters& emitters, ControlFlow& flow, size_t k);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_CONTROL_FLOW_H_
