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

// Chooses the group that runs, of the lanes `all` at a point of the warp. A
// group's mask should name the lane itself, but need not. If the lanes have
// masks of their own, lanes of several groups may be here, and a group that is
// here as a whole goes first; if none is, the lowest lane's group is `lanes`,
// and not `whole`.
MaskedPath::Group MaskedPath::GroupOf(const Step& step,
                                      llvm::Value* all) const {
  llvm::Value* live = e_.pending.LoadLive();
  auto whole = [&](llvm::Value* group) {
    llvm::Value* missing =
        b_.CreateAnd(b_.CreateAnd(live, group), b_.CreateNot(all));
    return b_.CreateICmpEQ(missing, b_.I32(0));
  };
  if (step.instruction.operands.empty() ||
      step.instruction.modifiers.Has(Modifier::kAligned)) {
    return {b_.I32(kAllLanes), whole(b_.I32(kAllLanes))};
  }
  const Value masks = e_.instructions.operands().Read(
      step.lanes, step.instruction.operands.back(), Type::kU32);
  if (masks.shape.uniform()) {
    llvm::Value* first = b_.CreateAnd(all, b_.CreateNeg(all));
    return {b_.CreateOr(masks.parts[0], first), whole(masks.parts[0])};
  }
  llvm::Value* here = b_.CreateAnd(all, LanesOfWholeGroups(masks, all, live));
  llvm::Value* some = b_.CreateICmpNE(here, b_.I32(0));
  llvm::Value* lanes = b_.CreateSelect(some, here, all);
  llvm::Value* first = b_.CreateAnd(lanes, b_.CreateNeg(lanes));
  return {b_.CreateOr(arrays_.OfFirstLane(masks, lanes), first), some};
}

// Returns the lanes of `all` whose whole group is here: each living lane that
// the mask names has come, with the same mask. In a recursion, lanes of several
// calls may be here, with different masks.
llvm::Value* MaskedPath::LanesOfWholeGroups(const Value& masks,
                                            llvm::Value* all,
                                            llvm::Value* live) const {
  llvm::AllocaInst* values =
      arrays_.Spill(e_.values.Reshape(masks, analysis::LaneShape::Varying()));
  llvm::AllocaInst* same = b_.AllocaAtEntry(
      llvm::ArrayType::get(b_.getInt32Ty(), analysis::kWarpLanes));
  e_.runtime.Call("holdfast_match_any32", b_.getVoidTy(), {values, all, same});
  const Value mates = arrays_.LoadLanes(same, Type::kB32);
  Value whole{analysis::LaneShape::Varying(), Type::kPred, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* others =
        b_.CreateAnd(b_.Splat(live), b_.CreateNot(e_.values.Vector(mates, c)));
    whole.parts.push_back(b_.CreateICmpEQ(
        b_.CreateAnd(e_.values.Vector(masks, c), others), b_.Splat(b_.I32(0))));
  }
  return e_.values.BitsOfPredicate(whole);
}

// A group runs at once if all its lanes have come, or if no other lane can run
// any more: then `parked.round` says that the missing lanes never will come
// (ForceWarpPoints), and the lanes that are here go on without them. The other
// lanes that are here look again at once: nobody else would wake a whole group
// among them, and it can run the next block together with this group.
void MaskedPath::ConvergeWarp(const Step& step) {
  const size_t k = step.block;
  const Parked& parked = parked_.at(k);
  llvm::Value* all = b_.CreateOr(step.lanes.Exec(b_), b_.LoadI32(parked.lanes));
  const Group group = GroupOf(step, all);
  llvm::Value* go = b_.CreateOr(
      group.whole, b_.CreateICmpNE(b_.LoadI32(parked.round), b_.I32(0)));
  auto* run = b_.NewBlock("meet");
  auto* wait = b_.NewBlock("park");
  b_.CreateCondBr(go, run, wait);
  b_.SetInsertPoint(wait);
  b_.CreateStore(all, parked.lanes);
  b_.CreateBr(DispatchFrom(k + 1));
  b_.SetInsertPoint(run);
  b_.CreateStore(b_.I32(0), parked.lanes);
  b_.CreateStore(b_.I32(0), parked.round);
  b_.CreateStore(b_.I32(0), Retried());
  b_.CreateStore(b_.CreateAnd(all, group.lanes), exec_);
  if (step.instruction.opcode() != Opcode::kBar) {
    e_.instructions.EmitUnguarded(step);
  }
  e_.pending.Add(c_.kernel.blocks[k].next, step.lanes.Exec(b_));
  llvm::Value* rest = b_.CreateAnd(all, b_.CreateNot(group.lanes));
  e_.pending.Add(static_cast<int>(k), rest);
  b_.CreateCondBr(b_.CreateICmpEQ(rest, b_.I32(0)), DispatchFrom(k + 1),
                  dispatch_[k]);
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
  b_.CreateStore(b_.I32(0), Retried());
  b_.CreateStore(b_.I32(1), Again());
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  e_.notes.predicates.clear();
}

// The field of the frame that says: look for pending blocks again.
llvm::Value* MaskedPath::Again() const { return c_.Slot(c_.layout.Again()); }

// The field of the frame that says: the groups at the points of the warp have
// been looked at since a lane last went on from one.
llvm::Value* MaskedPath::Retried() const {
  return c_.Slot(c_.layout.Retried());
}

// The end of the chain of dispatch blocks. In this order: lanes whose barriers
// other warps have completed go on; if that, or a loop that rotates, has made
// lanes pending, another pass over the chain; then lanes that wait for lanes of
// their own warp look again, since lanes may have ended; then other warps run
// (holdfast_wait) if lanes wait for them; and only if none do, lanes that wait
// for their own warp go on without the missing ones. If no lane is parked, the
// warp has ended.
void MaskedPath::EmitIdle() {
  b_.SetInsertPoint(idle_);
  for (const auto& [k, parked] : parked_) {
    if (ConvergencePointAt(c_.kernel, k) == ConvergencePoint::kBlock) {
      Release(k);
    }
  }
  auto* again = b_.NewBlock("again");
  auto* rest = b_.NewBlock("idle.rest");
  b_.CreateCondBr(b_.CreateICmpNE(b_.LoadI32(Again()), b_.I32(0)), again, rest);
  b_.SetInsertPoint(again);
  b_.CreateStore(b_.I32(0), Again());
  b_.CreateBr(DispatchFrom(0));

  b_.SetInsertPoint(rest);
  llvm::Value* at_warp = LanesParkedAt(ConvergencePoint::kWarp);
  llvm::Value* at_block = LanesParkedAt(ConvergencePoint::kBlock);
  auto* warp = b_.NewBlock("idle.warp");
  auto* block = b_.NewBlock("idle.block");
  auto* retry = b_.NewBlock("idle.retry");
  auto* force = b_.NewBlock("idle.force");
  auto* wait = b_.NewBlock("idle.wait");
  b_.CreateCondBr(b_.CreateICmpNE(at_warp, b_.I32(0)), warp, block);
  b_.SetInsertPoint(block);
  b_.CreateCondBr(b_.CreateICmpNE(at_block, b_.I32(0)), wait, c_.done);
  b_.SetInsertPoint(warp);
  auto* retried = b_.NewBlock("idle.retried");
  b_.CreateCondBr(b_.CreateICmpEQ(b_.LoadI32(Retried()), b_.I32(0)), retry,
                  retried);
  b_.SetInsertPoint(retried);
  llvm::Value* others = c_.facts.warps_wait
                            ? b_.CreateICmpNE(at_block, b_.I32(0))
                            : b_.getFalse();
  b_.CreateCondBr(others, wait, force);
  b_.SetInsertPoint(retry);
  RetryWarpPoints();
  b_.CreateBr(again);
  b_.SetInsertPoint(force);
  ForceWarpPoints();
  b_.CreateBr(again);
  b_.SetInsertPoint(wait);
  if (c_.facts.warps_wait) {
    e_.runtime.Call("holdfast_wait", b_.getVoidTy(), {});
  }
  b_.CreateBr(idle_);
}

// The lanes that wait at points of this kind, i32.
llvm::Value* MaskedPath::LanesParkedAt(ConvergencePoint kind) const {
  llvm::Value* waiting = b_.I32(0);
  for (const auto& [k, parked] : parked_) {
    if (ConvergencePointAt(c_.kernel, k) != kind) continue;
    waiting = b_.CreateOr(waiting, b_.LoadI32(parked.lanes));
  }
  return waiting;
}

// Makes all lanes pending that wait for lanes of their own warp.
void MaskedPath::RetryWarpPoints() {
  for (const auto& [k, parked] : parked_) {
    if (ConvergencePointAt(c_.kernel, k) != ConvergencePoint::kWarp) continue;
    e_.pending.Add(static_cast<int>(k), b_.LoadI32(parked.lanes));
    b_.CreateStore(b_.I32(0), parked.lanes);
  }
  b_.CreateStore(b_.I32(1), Retried());
}

// Lets groups go on without their missing lanes, at all points at once: each
// side of a branch may wait for the other side at a point of its own.
void MaskedPath::ForceWarpPoints() {
  for (const auto& [k, parked] : parked_) {
    if (ConvergencePointAt(c_.kernel, k) != ConvergencePoint::kWarp) continue;
    llvm::Value* lanes = b_.LoadI32(parked.lanes);
    e_.pending.Add(static_cast<int>(k), lanes);
    b_.CreateStore(b_.I32(0), parked.lanes);
    b_.CreateStore(
        b_.CreateZExt(b_.CreateICmpNE(lanes, b_.I32(0)), b_.getInt32Ty()),
        parked.round);
  }
}

}  // namespace holdfast::software::jit
