// SPDX-License-Identifier: Apache-2.0
//
// Where lanes wait for each other. All 32 lanes together simply call the
// runtime. Under a mask, the lanes that arrive are set aside ("parked") until
// the warp has nothing else to run; see Idle.
#include "core/software/jit/kernel_emitter.h"
#include "core/software/runtime/abi.h"

namespace holdfast::software::jit {

using lower::ConvergencePoint;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

namespace {

constexpr uint32_t kAllLanes = 0xFFFFFFFF;
constexpr uint32_t kAllTrue = 1u << 31;

// barrier.red has its result in front.
size_t BarrierOperand(const Instruction& instruction) {
  return instruction.modifiers.Has(Modifier::kRed) ? 1 : 0;
}

}  // namespace

// Calls a function of abi.h, whose first argument is always the worker.
llvm::Value* KernelEmitter::CallRuntime(const char* name, llvm::Type* result,
                                        absl::Span<llvm::Value* const> in) {
  llvm::SmallVector<llvm::Type*, 8> types = {b_.getPtrTy()};
  llvm::SmallVector<llvm::Value*, 8> values = {worker_};
  for (llvm::Value* value : in) {
    types.push_back(value->getType());
    values.push_back(value);
  }
  auto callee = b_.module()->getOrInsertFunction(
      name, llvm::FunctionType::get(result, types, false));
  return b_.CreateCall(callee, values);
}

llvm::Value* KernelEmitter::LoadI32(llvm::Value* place) {
  return b_.CreateLoad(b_.getInt32Ty(), place);
}

// The value of the lowest of `lanes`, which are not none.
llvm::Value* KernelEmitter::OfFirstLane(const Value& value,
                                        llvm::Value* lanes) {
  if (value.shape.uniform()) return value.parts[0];
  llvm::AllocaInst* values =
      Spill(Reshape(value, analysis::LaneShape::Varying()));
  llvm::Type* element = value.parts[0]->getType()->getScalarType();
  llvm::Value* lane =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, lanes, b_.getTrue());
  return b_.CreateLoad(element, b_.CreateGEP(element, values, lane));
}

// Announces `lanes` at the barrier; the round that they have to wait for.
KernelEmitter::BarrierRound KernelEmitter::EmitArrive(
    const Instruction& instruction, llvm::Value* lanes, llvm::Value* live) {
  current_ = &instruction;
  NoteInstruction();
  const size_t at = BarrierOperand(instruction);
  const auto& operands = instruction.operands;
  const bool reduces = at == 1;
  const bool counted = operands.size() > at + (reduces ? 2 : 1);
  llvm::Value* id = OfFirstLane(Read(operands[at], Type::kU32), lanes);
  llvm::Value* threads =
      counted ? OfFirstLane(Read(operands[at + 1], Type::kU32), lanes)
              : b_.I32(0);
  llvm::Value* predicate = b_.I32(0);
  if (reduces) {
    predicate = BitsOfPredicate(Read(operands.back(), Type::kPred));
  }
  return {id, CallRuntime("holdfast_barrier_arrive", b_.getInt32Ty(),
                          {id, threads, lanes, live, predicate})};
}

void KernelEmitter::WriteReduction(const Instruction& instruction,
                                   const BarrierRound& round,
                                   llvm::Value* lanes) {
  if (!instruction.modifiers.Has(Modifier::kRed)) return;
  const Operand& target = instruction.operands[0];
  if (target.kind != Operand::Kind::kRegister) return;
  llvm::Value* result = CallRuntime("holdfast_barrier_result", b_.getInt32Ty(),
                                    {round.barrier, round.round});
  llvm::Value* count = b_.CreateAnd(result, b_.I32(~kAllTrue));
  Value value = Uniform(Type::kU32, count);
  if (instruction.modifiers.Has(Modifier::kOr)) {
    value = Uniform(Type::kPred, b_.CreateICmpNE(count, b_.I32(0)));
  } else if (instruction.modifiers.Has(Modifier::kAnd)) {
    value = Uniform(
        Type::kPred,
        b_.CreateICmpNE(b_.CreateAnd(result, b_.I32(kAllTrue)), b_.I32(0)));
  }
  WriteRegister(target.index, value, mode_, lanes);
}

// i1: the barrier has completed the round, so that its lanes may go on.
llvm::Value* KernelEmitter::Passed(const BarrierRound& round) {
  return b_.CreateICmpNE(CallRuntime("holdfast_barrier_passed", b_.getInt8Ty(),
                                     {round.barrier, round.round}),
                         b_.getInt8(0));
}

// All 32 lanes at block k, which is one instruction.
void KernelEmitter::MeetFull(size_t k) {
  const lower::Block& block = kernel_.blocks[k];
  const Instruction& instruction = kernel_.function->body[block.first];
  if (instruction.guard.kind != Operand::Kind::kNone) {
    // Some may stay away: the masked code knows how.
    parting_.roots.insert(static_cast<int>(k));
    LeaveFull(live_registers_[k], &parting_);
    Pend(static_cast<int>(k), b_.I32(kAllLanes));
    Diverge(static_cast<int>(k), &parting_);
    return;
  }
  if (lower::ConvergencePointOf(instruction) == ConvergencePoint::kWarp) {
    if (instruction.opcode() != Opcode::kBar) EmitInstruction(instruction);
    b_.CreateBr(FullTarget(block.next));
    return;
  }
  if (!instruction.modifiers.Has(Modifier::kArrive) &&
      !instruction.modifiers.Has(Modifier::kRed)) {
    const auto& operands = instruction.operands;
    const Value id = Read(operands[0], Type::kU32);
    const Value threads = operands.size() > 1 ? Read(operands[1], Type::kU32)
                                              : Uniform(Type::kU32, b_.I32(0));
    current_ = &instruction;
    NoteInstruction();
    CallRuntime("holdfast_barrier_sync", b_.getVoidTy(),
                {OfFirstLane(id, b_.I32(kAllLanes)),
                 OfFirstLane(threads, b_.I32(kAllLanes))});
    b_.CreateBr(FullTarget(block.next));
    return;
  }
  const BarrierRound round =
      EmitArrive(instruction, b_.I32(kAllLanes), b_.I32(kAllLanes));
  if (!instruction.modifiers.Has(Modifier::kArrive)) {
    auto* check = b_.NewBlock("barrier");
    auto* wait = b_.NewBlock("barrier.wait");
    auto* passed = b_.NewBlock("barrier.passed");
    b_.CreateBr(check);
    b_.SetInsertPoint(check);
    b_.CreateCondBr(Passed(round), passed, wait);
    b_.SetInsertPoint(wait);
    CallRuntime("holdfast_wait", b_.getVoidTy(), {});
    b_.CreateBr(check);
    b_.SetInsertPoint(passed);
    WriteReduction(instruction, round, nullptr);
  }
  b_.CreateBr(FullTarget(block.next));
}

// The running lanes at block k. Lanes whose guard does not hold pass by.
void KernelEmitter::MeetMasked(size_t k) {
  const lower::Block& block = kernel_.blocks[k];
  const Instruction& instruction = kernel_.function->body[block.first];
  if (instruction.guard.kind != Operand::Kind::kNone) {
    llvm::Value* guard = BitsOfPredicate(Read(instruction.guard, Type::kPred));
    llvm::Value* exec = ExecBits();
    Pend(block.next, b_.CreateAnd(exec, b_.CreateNot(guard)));
    llvm::Value* here = b_.CreateAnd(exec, guard);
    auto* some = b_.NewBlock("some");
    b_.CreateCondBr(b_.CreateICmpEQ(here, b_.I32(0)), DispatchAfter(k), some);
    b_.SetInsertPoint(some);
    b_.CreateStore(here, exec_);
  }
  if (lower::ConvergencePointOf(instruction) == ConvergencePoint::kWarp) {
    MeetWarpMasked(k);
  } else {
    MeetBlockMasked(k);
  }
}

// Runs at once if all lanes that are asked for have come, or if no other lane
// can run any more. Groups with masks of their own may meet at one place: the
// group of the first lane that arrives runs, and others stay parked.
void KernelEmitter::MeetWarpMasked(size_t k) {
  const lower::Block& block = kernel_.blocks[k];
  const Instruction& instruction = kernel_.function->body[block.first];
  const Parked& parked = parked_.at(k);
  llvm::Value* lanes = ExecBits();
  llvm::Value* all = b_.CreateOr(lanes, LoadI32(parked.lanes));
  llvm::Value* group = b_.I32(kAllLanes);
  if (!instruction.operands.empty()) {
    group = OfFirstLane(Read(instruction.operands.back(), Type::kU32), lanes);
    // Its mask should name the lane itself, but need not.
    llvm::Value* first = b_.CreateAnd(lanes, b_.CreateNeg(lanes));
    group = b_.CreateOr(group, first);
  }
  llvm::Value* missing = b_.CreateAnd(
      b_.CreateAnd(LoadI32(Slot(layout_.Live())), group), b_.CreateNot(all));
  llvm::Value* go =
      b_.CreateOr(b_.CreateICmpEQ(missing, b_.I32(0)),
                  b_.CreateICmpNE(LoadI32(parked.round), b_.I32(0)));
  auto* run = b_.NewBlock("meet");
  auto* wait = b_.NewBlock("park");
  b_.CreateCondBr(go, run, wait);
  b_.SetInsertPoint(wait);
  b_.CreateStore(all, parked.lanes);
  b_.CreateBr(DispatchAfter(k));
  b_.SetInsertPoint(run);
  llvm::Value* running = b_.CreateAnd(all, group);
  b_.CreateStore(b_.CreateAnd(all, b_.CreateNot(group)), parked.lanes);
  b_.CreateStore(b_.I32(0), parked.round);
  b_.CreateStore(running, exec_);
  if (instruction.opcode() != Opcode::kBar) EmitUnguarded(instruction);
  Pend(block.next, ExecBits());
  b_.CreateBr(DispatchAfter(k));
}

// The lanes arrive at once, and are parked with the round that they wait for.
// Lanes that were parked here before are released first if their round is
// over: the frame holds one round for each place.
void KernelEmitter::MeetBlockMasked(size_t k) {
  const lower::Block& block = kernel_.blocks[k];
  const Instruction& instruction = kernel_.function->body[block.first];
  const Parked& parked = parked_.at(k);
  if (!instruction.modifiers.Has(Modifier::kArrive)) Release(k);
  llvm::Value* lanes = ExecBits();
  const BarrierRound round =
      EmitArrive(instruction, lanes, LoadI32(Slot(layout_.Live())));
  if (instruction.modifiers.Has(Modifier::kArrive)) {
    Pend(block.next, lanes);
  } else {
    b_.CreateStore(b_.CreateOr(LoadI32(parked.lanes), lanes), parked.lanes);
    b_.CreateStore(round.barrier, parked.barrier);
    b_.CreateStore(round.round, parked.round);
  }
  b_.CreateBr(DispatchAfter(k));
}

// Lets the lanes that wait at block k go on if their barrier has been passed.
void KernelEmitter::Release(size_t k) {
  const lower::Block& block = kernel_.blocks[k];
  const Instruction& instruction = kernel_.function->body[block.first];
  const Parked& parked = parked_.at(k);
  auto* waiting = b_.NewBlock("waiting");
  auto* passed = b_.NewBlock("passed");
  auto* after = b_.NewBlock("released");
  llvm::Value* lanes = LoadI32(parked.lanes);
  b_.CreateCondBr(b_.CreateICmpEQ(lanes, b_.I32(0)), after, waiting);
  b_.SetInsertPoint(waiting);
  const BarrierRound round{LoadI32(parked.barrier), LoadI32(parked.round)};
  b_.CreateCondBr(Passed(round), passed, after);
  b_.SetInsertPoint(passed);
  WriteReduction(instruction, round, lanes);
  Pend(block.next, lanes);
  b_.CreateStore(b_.I32(0), parked.lanes);
  b_.CreateStore(b_.I32(1), Slot(layout_.Again()));
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  predicates_.clear();
}

// The end of the chain of dispatch blocks. Lanes whose barriers have been
// passed go on. Lanes that wait for lanes of their own warp need not wait
// longer if no other lane can run; else another warp has to.
void KernelEmitter::EmitIdle() {
  b_.SetInsertPoint(idle_);
  for (const auto& [k, parked] : parked_) {
    if (MeetingAt(k) == ConvergencePoint::kBlock) Release(k);
  }
  auto* again = b_.NewBlock("again");
  auto* rest = b_.NewBlock("idle.warp");
  b_.CreateCondBr(b_.CreateICmpNE(LoadI32(Slot(layout_.Again())), b_.I32(0)),
                  again, rest);
  b_.SetInsertPoint(again);
  b_.CreateStore(b_.I32(0), Slot(layout_.Again()));
  b_.CreateBr(DispatchFrom(0));

  b_.SetInsertPoint(rest);
  llvm::Value* waiting = b_.I32(0);
  for (const auto& [k, parked] : parked_) {
    llvm::Value* lanes = LoadI32(parked.lanes);
    waiting = b_.CreateOr(waiting, lanes);
    if (MeetingAt(k) != ConvergencePoint::kWarp) continue;
    llvm::Value* some =
        b_.CreateZExt(b_.CreateICmpNE(lanes, b_.I32(0)), b_.getInt32Ty());
    Pend(static_cast<int>(k), lanes);
    b_.CreateStore(b_.I32(0), parked.lanes);
    b_.CreateStore(some, parked.round);
    b_.CreateStore(b_.CreateOr(LoadI32(Slot(layout_.Again())), some),
                   Slot(layout_.Again()));
  }
  auto* check = b_.NewBlock("idle.check");
  auto* wait = b_.NewBlock("idle.wait");
  b_.CreateCondBr(b_.CreateICmpEQ(waiting, b_.I32(0)), done_, check);
  b_.SetInsertPoint(check);
  b_.CreateCondBr(b_.CreateICmpNE(LoadI32(Slot(layout_.Again())), b_.I32(0)),
                  again, wait);
  b_.SetInsertPoint(wait);
  if (block_meetings_) CallRuntime("holdfast_wait", b_.getVoidTy(), {});
  b_.CreateBr(idle_);
}

ConvergencePoint KernelEmitter::MeetingAt(size_t k) const {
  return lower::ConvergencePointOf(
      kernel_.function->body[kernel_.blocks[k].first]);
}

// Every 64th round of a loop that may be waiting for another thread. Returns
// null where it cannot be, else whether other blocks of the warp, which the
// loop may be waiting for, should run first.
llvm::Value* KernelEmitter::EmitSpin(size_t k) {
  if (!kernel_.blocks[k].may_spin) return nullptr;
  constexpr uint32_t kRounds = 64;
  llvm::Value* round = b_.CreateAdd(LoadI32(Slot(layout_.Spins())), b_.I32(1));
  b_.CreateStore(round, Slot(layout_.Spins()));
  llvm::Value* rotate =
      b_.CreateICmpEQ(b_.CreateAnd(round, b_.I32(kRounds - 1)), b_.I32(0));
  auto* yield = b_.NewBlock("yield");
  auto* go_on = b_.NewBlock("spin");
  b_.CreateCondBr(rotate, yield, go_on);
  b_.SetInsertPoint(yield);
  CallRuntime("holdfast_yield", b_.getVoidTy(), {});
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
  return rotate;
}

}  // namespace holdfast::software::jit
