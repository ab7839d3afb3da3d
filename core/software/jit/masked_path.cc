// SPDX-License-Identifier: Apache-2.0
//
// The states that a lane of a warp can be in, each a bit in a word:
//
// running   `exec`, on the stack: the lanes of the block that runs
// pending   Pending(k), in the frame: have to run block k
// parked    Parked(k), in the frame: wait at the convergence point of block k
// ended     in none of them, nor in Live()
//
// A lane is in one state at a time. A branch moves lanes from running to
// pending; the dispatch of a block from pending to running; a convergence point
// from running to parked; Release and WakeWarpWaiters from parked to pending.
//
// Control between blocks goes through dispatch blocks, a chain in the order of
// the layout: dispatch k runs block k if lanes are pending there, else falls to
// dispatch k + 1, and at the end to `idle`.
#include "core/software/jit/masked_path.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/software/jit/scalar_loop_path.h"

namespace holdfast::software::jit {

using lower::ConvergencePoint;
using lower::kExit;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

MaskedPath::MaskedPath(FunctionEmitters& emitters, const FullPathExits& exits,
                       const MaskedPlan& plan, std::vector<bool> needed)
    : e_(emitters),
      c_(emitters.context),
      b_(emitters.context.b),
      arrays_(emitters.context.b),
      exits_(exits),
      plan_(plan),
      needed_(std::move(needed)) {}

void MaskedPath::CreateBlocks() {
  exec_ = b_.AllocaAtEntry(b_.getInt32Ty());
  b_.CreateStore(b_.LoadI32(c_.Slot(c_.layout.Resumed())), exec_);
  c_.done = b_.NewBlock("done");
  idle_ = b_.NewBlock("idle");
  for (size_t k = 0; k < c_.kernel.blocks.size(); ++k) {
    const bool needed = needed_[k];
    blocks_.push_back(needed ? b_.NewBlock(absl::StrCat("masked", k))
                             : nullptr);
    dispatch_.push_back(needed ? b_.NewBlock(absl::StrCat("dispatch", k))
                               : nullptr);
    if (!needed ||
        ConvergencePointAt(c_.kernel, k) == ConvergencePoint::kNone) {
      continue;
    }
    // Three words: the lanes; the number of the barrier that they wait for; and
    // its round, or, at a point of the warp, whether they need wait no longer.
    const uint64_t parked = c_.layout.Parked(k);
    parked_[k] = {c_.Slot(parked), c_.Slot(parked + 4), c_.Slot(parked + 8)};
  }
}

void MaskedPath::EmitBlocks(const FullPathReturn& full_path) {
  ScalarLoopPath loops(e_, *this, exec_);
  for (size_t k = 0; k < blocks_.size(); ++k) {
    if (!needed_[k]) continue;
    b_.SetInsertPoint(dispatch_[k]);
    llvm::Value* bits = e_.pending.Load(k);
    b_.CreateCondBr(b_.CreateICmpEQ(bits, b_.I32(0)), DispatchFrom(k + 1),
                    blocks_[k]);
    b_.SetInsertPoint(blocks_[k]);
    e_.pending.Clear(k);
    b_.CreateStore(bits, exec_);
    if (c_.facts.shapes[0].lane_loops[k] >= 0) {
      loops.Enter(k);
      continue;
    }
    if (plan_.meets[k]) full_path.ReturnIfAllMeet(k, lanes());
    EmitBlock(e_, *this, k);
  }
  loops.EmitLoops();
  EmitIdle();
}

llvm::BasicBlock* MaskedPath::EntryOf(int entry) const {
  const auto resumed = resumed_.find(entry);
  return resumed == resumed_.end() ? dispatch_[entry] : resumed->second;
}

llvm::BasicBlock* MaskedPath::DispatchFrom(size_t k) const {
  while (k < dispatch_.size() && !needed_[k]) ++k;
  return k < dispatch_.size() ? dispatch_[k] : idle_;
}

void MaskedPath::EnterInFrontOf(const Instruction& instruction) {
  const int entry = exits_.EntryInFrontOf(instruction);
  if (entry < 0 || !plan_.arrival.entries.contains(entry)) return;
  auto* resume = b_.NewBlock("resume");
  resumed_[entry] = resume;
  b_.CreateBr(resume);
  b_.SetInsertPoint(resume);
  // Control comes here from full code as well, which has not made the notes of
  // this block.
  e_.notes.predicates.clear();
  e_.notes.tested.clear();
}

// Lanes that go back run the loop again before blocks behind it are looked at.
// If the loop may be waiting for lanes at other blocks, `rotate` lets those run
// first, every 64th round.
// Forward, the lanes of both sides become pending, and the dispatch chain is
// entered behind this block: it finds the nearer of them first. Backward, the
// loop's head is behind us in the chain, so that the branch has to go there
// itself.
void MaskedPath::Branch(const Instruction* instruction, size_t k,
                        llvm::Value* rotate) {
  const lower::Block& block = c_.kernel.blocks[k];
  llvm::Value* exec = lanes().Exec(b_);
  auto* next = DispatchFrom(k + 1);
  if (instruction == nullptr) {
    e_.pending.Add(block.next, exec);
    b_.CreateBr(next);
    return;
  }
  llvm::Value* bits = exec;
  if (instruction->guard.kind != Operand::Kind::kNone) {
    llvm::Value* guard =
        e_.values.BitsOfPredicate(e_.instructions.operands().Read(
            lanes(), instruction->guard, Type::kPred));
    bits = b_.CreateAnd(exec, guard);
    e_.pending.Add(block.next, b_.CreateAnd(exec, b_.CreateNot(guard)));
  }
  e_.pending.Add(block.taken, bits);
  if (block.taken == kExit || block.taken > static_cast<int>(k)) {
    b_.CreateBr(next);
    return;
  }
  llvm::Value* back = b_.CreateICmpNE(bits, b_.I32(0));
  if (rotate != nullptr) {
    // The blocks behind the loop run once, then the loop again.
    back = b_.CreateAnd(back, b_.CreateNot(rotate));
    b_.CreateStore(b_.I32(1), Again());
  }
  b_.CreateCondBr(back, dispatch_[block.taken], next);
}

// Lanes whose guard does not hold pass by.
void MaskedPath::Converge(const Step& step) {
  const size_t k = step.block;
  if (step.guarded()) {
    llvm::Value* guard =
        e_.values.BitsOfPredicate(e_.instructions.operands().Read(
            step.lanes, step.instruction.guard, Type::kPred));
    llvm::Value* exec = step.lanes.Exec(b_);
    e_.pending.Add(c_.kernel.blocks[k].next,
                   b_.CreateAnd(exec, b_.CreateNot(guard)));
    llvm::Value* here = b_.CreateAnd(exec, guard);
    auto* some = b_.NewBlock("some");
    b_.CreateCondBr(b_.CreateICmpEQ(here, b_.I32(0)), DispatchFrom(k + 1),
                    some);
    b_.SetInsertPoint(some);
    b_.CreateStore(here, exec_);
  }
  if (lower::ConvergencePointOf(step.instruction) == ConvergencePoint::kWarp) {
    ConvergeWarp(step);
  } else {
    ConvergeBlock(step);
  }
}

// The lanes that have to meet with the first of `lanes`. Its mask should name
// the lane itself, but need not.
llvm::Value* MaskedPath::GroupOf(const Step& step, llvm::Value* lanes) const {
  if (step.instruction.operands.empty() ||
      step.instruction.modifiers.Has(Modifier::kAligned)) {
    return b_.I32(kAllLanes);
  }
  llvm::Value* group = arrays_.OfFirstLane(
      e_.instructions.operands().Read(
          step.lanes, step.instruction.operands.back(), Type::kU32),
      lanes);
  llvm::Value* first = b_.CreateAnd(lanes, b_.CreateNeg(lanes));
  return b_.CreateOr(group, first);
}

// Runs at once if all lanes that are asked for have come, or if no other lane
// can run any more. Groups with masks of their own may meet at one place: the
// group of the first lane that arrives runs, and others stay parked.
// `missing` are the lanes of the group that live and have not come.
// `parked.round` says that they never will, since no other lane can run
// (WakeWarpWaiters): those that are here then go on without them.
void MaskedPath::ConvergeWarp(const Step& step) {
  const size_t k = step.block;
  const Parked& parked = parked_.at(k);
  llvm::Value* lanes = step.lanes.Exec(b_);
  llvm::Value* all = b_.CreateOr(lanes, b_.LoadI32(parked.lanes));
  llvm::Value* group = GroupOf(step, lanes);
  llvm::Value* missing = b_.CreateAnd(
      b_.CreateAnd(e_.pending.LoadLive(), group), b_.CreateNot(all));
  llvm::Value* go =
      b_.CreateOr(b_.CreateICmpEQ(missing, b_.I32(0)),
                  b_.CreateICmpNE(b_.LoadI32(parked.round), b_.I32(0)));
  auto* run = b_.NewBlock("meet");
  auto* wait = b_.NewBlock("park");
  b_.CreateCondBr(go, run, wait);
  b_.SetInsertPoint(wait);
  b_.CreateStore(all, parked.lanes);
  b_.CreateBr(DispatchFrom(k + 1));
  b_.SetInsertPoint(run);
  llvm::Value* running = b_.CreateAnd(all, group);
  b_.CreateStore(b_.CreateAnd(all, b_.CreateNot(group)), parked.lanes);
  b_.CreateStore(b_.I32(0), parked.round);
  b_.CreateStore(running, exec_);
  if (step.instruction.opcode() != Opcode::kBar) {
    e_.instructions.EmitUnguarded(step);
  }
  e_.pending.Add(c_.kernel.blocks[k].next, step.lanes.Exec(b_));
  b_.CreateBr(DispatchFrom(k + 1));
}

// The lanes arrive at once, and are parked with the round that they wait for.
// Lanes that were parked here before are released first if their round is over:
// the frame holds one round for each place.
void MaskedPath::ConvergeBlock(const Step& step) {
  const size_t k = step.block;
  const Parked& parked = parked_.at(k);
  const bool arrives = step.instruction.modifiers.Has(Modifier::kArrive);
  if (!arrives) Release(k);
  llvm::Value* lanes = step.lanes.Exec(b_);
  const BarrierEmitter::Round round =
      e_.barriers.Arrive(step, lanes, e_.pending.LoadLive());
  if (arrives) {
    e_.pending.Add(c_.kernel.blocks[k].next, lanes);
  } else {
    b_.CreateStore(b_.CreateOr(b_.LoadI32(parked.lanes), lanes), parked.lanes);
    b_.CreateStore(round.barrier, parked.barrier);
    b_.CreateStore(round.round, parked.round);
  }
  b_.CreateBr(DispatchFrom(k + 1));
}

// Lets the lanes that wait at block `k` go on if their barrier has been passed.
void MaskedPath::Release(size_t k) {
  const lower::Block& block = c_.kernel.blocks[k];
  const Step step{c_.kernel.function->body[block.first], k, this->lanes()};
  const Parked& parked = parked_.at(k);
  auto* waiting = b_.NewBlock("waiting");
  auto* passed = b_.NewBlock("passed");
  auto* after = b_.NewBlock("released");
  llvm::Value* lanes = b_.LoadI32(parked.lanes);
  b_.CreateCondBr(b_.CreateICmpEQ(lanes, b_.I32(0)), after, waiting);
  b_.SetInsertPoint(waiting);
  const BarrierEmitter::Round round{b_.LoadI32(parked.barrier),
                                    b_.LoadI32(parked.round)};
  b_.CreateCondBr(e_.barriers.Passed(round), passed, after);
  b_.SetInsertPoint(passed);
  e_.barriers.WriteReduction(step, round, lanes);
  e_.pending.Add(block.next, lanes);
  b_.CreateStore(b_.I32(0), parked.lanes);
  b_.CreateStore(b_.I32(1), Again());
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  e_.notes.predicates.clear();
}

// The field of the frame that says: look for pending blocks again.
llvm::Value* MaskedPath::Again() const { return c_.Slot(c_.layout.Again()); }

// The end of the chain of dispatch blocks. Lanes whose barriers have been
// passed go on. Lanes that wait for lanes of their own warp need not wait
// longer if no other lane can run; else another warp has to.
// In this order: lanes at barriers that other warps have completed since; if
// that, or a loop that rotates, has made lanes pending, another pass over the
// chain; then lanes that wait for their own warp; and only if none of these can
// go on, other warps run (holdfast_wait). If no lane is parked either, the warp
// has ended.
void MaskedPath::EmitIdle() {
  b_.SetInsertPoint(idle_);
  for (const auto& [k, parked] : parked_) {
    if (ConvergencePointAt(c_.kernel, k) == ConvergencePoint::kBlock) {
      Release(k);
    }
  }
  auto* again = b_.NewBlock("again");
  auto* rest = b_.NewBlock("idle.warp");
  b_.CreateCondBr(b_.CreateICmpNE(b_.LoadI32(Again()), b_.I32(0)), again, rest);
  b_.SetInsertPoint(again);
  b_.CreateStore(b_.I32(0), Again());
  b_.CreateBr(DispatchFrom(0));

  b_.SetInsertPoint(rest);
  llvm::Value* waiting = WakeWarpWaiters();
  auto* check = b_.NewBlock("idle.check");
  auto* wait = b_.NewBlock("idle.wait");
  b_.CreateCondBr(b_.CreateICmpEQ(waiting, b_.I32(0)), c_.done, check);
  b_.SetInsertPoint(check);
  b_.CreateCondBr(b_.CreateICmpNE(b_.LoadI32(Again()), b_.I32(0)), again, wait);
  b_.SetInsertPoint(wait);
  if (c_.facts.warps_wait) {
    e_.runtime.Call("holdfast_wait", b_.getVoidTy(), {});
  }
  b_.CreateBr(idle_);
}

// Makes lanes pending that wait for lanes of their own warp. Returns all lanes
// that wait, i32.
llvm::Value* MaskedPath::WakeWarpWaiters() {
  llvm::Value* waiting = b_.I32(0);
  for (const auto& [k, parked] : parked_) {
    llvm::Value* lanes = b_.LoadI32(parked.lanes);
    waiting = b_.CreateOr(waiting, lanes);
    if (ConvergencePointAt(c_.kernel, k) != ConvergencePoint::kWarp) continue;
    llvm::Value* some =
        b_.CreateZExt(b_.CreateICmpNE(lanes, b_.I32(0)), b_.getInt32Ty());
    e_.pending.Add(static_cast<int>(k), lanes);
    b_.CreateStore(b_.I32(0), parked.lanes);
    b_.CreateStore(some, parked.round);
    b_.CreateStore(b_.CreateOr(b_.LoadI32(Again()), some), Again());
  }
  return waiting;
}

}  // namespace holdfast::software::jit
