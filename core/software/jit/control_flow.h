// SPDX-License-Identifier: Apache-2.0
//
// The interface of the emitters of control flow. The three implementations,
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
  // Emits the end of block `k`. `instruction` is the branch at the end; null:
  // control goes on to the next block. `rotate` is the result of
  // BarrierEmitter::YieldInLoop for a branch backward, otherwise null.
  virtual void Branch(const ptx::Instruction* instruction, size_t k,
                      llvm::Value* rotate) = 0;
  // Emits a block that consists of the instruction of `step`, at which lanes
  // wait for each other.
  virtual void Converge(const Step& step) = 0;
  // Makes an entry in front of the instruction if full code has an exit there
  // (FullPathExits). Called before each instruction that is no branch.
  virtual void EnterInFrontOf(const ptx::Instruction& instruction) = 0;
};

// Emits block `k` of the kernel at the insertion point, for `flow`. First
// clears `emitters.notes`, which are true only within one block. Emits a check
// for a cancelled launch at each branch backward, because every loop has one.
void EmitBlock(FunctionEmitters& emitters, ControlFlow& flow, size_t k);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_CONTROL_FLOW_H_
