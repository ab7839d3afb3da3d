// SPDX-License-Identifier: Apache-2.0
//
// The way that lanes take through the blocks of a kernel. There are three, each
// with an idea of its own of how a branch looks: FullPath, MaskedPath and
// ScalarLoopPath.
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
  // Ends block `k` with its branch; null where control falls through. `rotate`
  // as BarrierEmitter::YieldInLoop returns it.
  virtual void Branch(const ptx::Instruction* instruction, size_t k,
                      llvm::Value* rotate) = 0;
  // Ends block `k`, which is one instruction where lanes wait for each other.
  virtual void Converge(const Step& step) = 0;
  // Code may be entered in front of the instruction as well.
  virtual void EnterInFrontOf(const ptx::Instruction& instruction) = 0;
};

// Emits block `k` of the kernel at the insertion point, for `flow`. Notes about
// values hold within the block only. Branches backward poll for a cancelled
// launch, since they make the loops.
void EmitBlock(FunctionEmitters& emitters, ControlFlow& flow, size_t k);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_CONTROL_FLOW_H_
