// SPDX-License-Identifier: Apache-2.0
//
// The part that all paths have in common: a block is its instructions in order,
// and one branch. The parts that differ are virtual calls of ControlFlow.
#include "core/software/jit/control_flow.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Opcode;

namespace {

constexpr uint32_t kLongBlock = 64;  // instructions

bool IsBranch(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kBra ||
         instruction.opcode() == Opcode::kRet ||
         instruction.opcode() == Opcode::kExit;
}

// A branch backward is where a loop sees that its launch is cancelled, and
// where one that waits lets others run.
void EmitBranch(FunctionEmitters& emitters, ControlFlow& flow,
                const Instruction* instruction, size_t k) {
  const int taken = emitters.context.kernel.blocks[k].taken;
  llvm::Value* rotate = nullptr;
  if (instruction != nullptr && taken != lower::kExit &&
      taken <= static_cast<int>(k)) {
    emitters.runtime.PollCancel();
    rotate = emitters.barriers.YieldInLoop(k);
  }
  flow.Branch(instruction, k, rotate);
}

}  // namespace

void EmitBlock(FunctionEmitters& emitters, ControlFlow& flow, size_t k) {
  const lower::Kernel& kernel = emitters.context.kernel;
  const lower::Block& block = kernel.blocks[k];
  emitters.notes.Clear();
  // Such an instruction is all of its block, guard and all.
  if (ConvergencePointAt(kernel, k) != lower::ConvergencePoint::kNone) {
    return flow.Converge({kernel.function->body[block.first], k, flow.lanes()});
  }
  for (uint32_t i = block.first; i < block.last; ++i) {
    const Instruction& instruction = kernel.function->body[i];
    if (IsBranch(instruction)) {
      return EmitBranch(emitters, flow, &instruction, k);
    }
    // LLVM takes quadratic time for long blocks; so they end now and then.
    if ((i - block.first) % kLongBlock == kLongBlock - 1) {
      emitters.runtime.PollCancel();
    }
    flow.EnterInFrontOf(instruction);
    emitters.instructions.Emit({instruction, k, flow.lanes()});
  }
  EmitBranch(emitters, flow, nullptr, k);
}

}  // namespace holdfast::software::jit
