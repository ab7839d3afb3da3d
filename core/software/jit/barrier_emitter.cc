// SPDX-License-Identifier: Apache-2.0
//
// A barrier is known by its number and counts rounds. A lane that arrives gets
// the number of the round under way, and may go on when the barrier has
// completed it; so a slow lane cannot miss the end of its round.
#include "core/software/jit/barrier_emitter.h"

#include "core/software/abi/abi.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Operand;
using ptx::Type;

namespace {

constexpr uint32_t kAllTrue = 1u << 31;

// barrier.red has its result in front.
size_t BarrierOperand(const Instruction& instruction) {
  return instruction.modifiers.Has(Modifier::kRed) ? 1 : 0;
}

}  // namespace

bool BarrierEmitter::IsOfCluster(const Instruction& instruction) {
  return instruction.modifiers.Has(Modifier::kCluster);
}

// The common barrier, of whole warps without a reduction: one call, which comes
// back when the barrier has been passed.
void BarrierEmitter::Synchronize(const Step& step) const {
  const auto& operands = step.instruction.operands;
  const Value id = operands_.Read(step.lanes, operands[0], Type::kU32);
  const Value threads =
      operands.size() > 1 ? operands_.Read(step.lanes, operands[1], Type::kU32)
                          : v_.Uniform(Type::kU32, b_.I32(0));
  runtime_.NoteInstruction(step);
  runtime_.Call("holdfast_barrier_sync", b_.getVoidTy(),
                {arrays_.OfFirstLane(id, b_.I32(kAllLanes)),
                 arrays_.OfFirstLane(threads, b_.I32(kAllLanes))});
}

BarrierEmitter::Round BarrierEmitter::Arrive(const Step& step,
                                             llvm::Value* lanes,
                                             llvm::Value* live) const {
  runtime_.NoteInstruction(step);
  if (IsOfCluster(step.instruction)) {
    if (step.instruction.modifiers.Has(Modifier::kArrive)) {
      runtime_.Call("holdfast_cluster_arrive", b_.getVoidTy(), {lanes});
    }
    return {b_.I32(kClusterBarrier), lanes};
  }
  // [d,] barrier[, threads][, predicate]; the first lane's operands count for
  // all.
  const size_t at = BarrierOperand(step.instruction);
  const auto& operands = step.instruction.operands;
  const bool reduces = at == 1;
  const bool counted = operands.size() > at + (reduces ? 2 : 1);
  const auto read = [&](const Operand& operand) {
    return arrays_.OfFirstLane(operands_.Read(step.lanes, operand, Type::kU32),
                               lanes);
  };
  llvm::Value* id = read(operands[at]);
  llvm::Value* threads = counted ? read(operands[at + 1]) : b_.I32(0);
  llvm::Value* predicate = b_.I32(0);
  if (reduces) {
    predicate = v_.BitsOfPredicate(
        operands_.Read(step.lanes, operands.back(), Type::kPred));
  }
  return {id, runtime_.Call("holdfast_barrier_arrive", b_.getInt32Ty(),
                            {id, threads, lanes, live, predicate})};
}

llvm::Value* BarrierEmitter::Passed(const Round& round) const {
  return b_.CreateICmpNE(
      runtime_.Call("holdfast_barrier_passed", b_.getInt8Ty(),
                    {round.barrier, round.round}),
      b_.getInt8(0));
}

// Only full code waits here, all lanes together; masked code parks its lanes
// and looks again later (MaskedPath::Release).
void BarrierEmitter::WaitFor(const Round& round) const {
  auto* check = b_.NewBlock("barrier");
  auto* wait = b_.NewBlock("barrier.wait");
  auto* passed = b_.NewBlock("barrier.passed");
  b_.CreateBr(check);
  b_.SetInsertPoint(check);
  b_.CreateCondBr(Passed(round), passed, wait);
  b_.SetInsertPoint(wait);
  runtime_.Call("holdfast_wait", b_.getVoidTy(), {});
  b_.CreateBr(check);
  b_.SetInsertPoint(passed);
}

// The runtime gives how many threads had a true predicate, and in the top bit
// whether all had.
void BarrierEmitter::WriteReduction(const Step& step, const Round& round,
                                    llvm::Value* lanes) const {
  const auto& words = step.instruction.modifiers;
  if (!words.Has(Modifier::kRed)) return;
  const Operand& target = step.instruction.operands[0];
  if (target.kind != Operand::Kind::kRegister) return;
  llvm::Value* result = runtime_.Call(
      "holdfast_barrier_result", b_.getInt32Ty(), {round.barrier, round.round});
  llvm::Value* count = b_.CreateAnd(result, b_.I32(~kAllTrue));
  Value value = v_.Uniform(Type::kU32, count);
  if (words.Has(Modifier::kOr)) {
    value = v_.Uniform(Type::kPred, b_.CreateICmpNE(count, b_.I32(0)));
  } else if (words.Has(Modifier::kAnd)) {
    value = v_.Uniform(
        Type::kPred,
        b_.CreateICmpNE(b_.CreateAnd(result, b_.I32(kAllTrue)), b_.I32(0)));
  }
  registers_.Write(target.index, value, c_.mode, lanes, step.lanes);
}

// The count of rounds is the warp's, whatever loop it is in. A loop that waits
// for no one has no such test.
llvm::Value* BarrierEmitter::YieldInLoop(size_t k) const {
  if (!c_.kernel.blocks[k].may_spin) return nullptr;
  constexpr uint32_t kRounds = 64;
  llvm::Value* round =
      b_.CreateAdd(b_.LoadI32(c_.Slot(c_.layout.Spins())), b_.I32(1));
  b_.CreateStore(round, c_.Slot(c_.layout.Spins()));
  llvm::Value* rotate =
      b_.CreateICmpEQ(b_.CreateAnd(round, b_.I32(kRounds - 1)), b_.I32(0));
  auto* yield = b_.NewBlock("yield");
  auto* go_on = b_.NewBlock("spin");
  b_.CreateCondBr(rotate, yield, go_on);
  b_.SetInsertPoint(yield);
  runtime_.Call("holdfast_yield", b_.getVoidTy(), {});
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
  return rotate;
}

}  // namespace holdfast::software::jit
