// SPDX-License-Identifier: Apache-2.0
//
// A branch in full code is one of four:
//
// uniform guard              a plain conditional branch on one scalar
// varying, all lanes agree   the same, after two comparisons of vectors
// varying, region behind it  both sides under masks (region_emitter.h)
// varying, else              exit to masked code (full_path_exits.h)
//
// The kind is decided here when code is emitted, by the analysis; whether lanes
// agree is found out by the code itself, at each branch that varies. Full code
// never runs with fewer than 32 lanes outside of regions, so that no
// instruction needs a mask.
#include "core/software/jit/full_path.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/software/analysis/scalar_loops.h"
#include "llvm/IR/MDBuilder.h"

namespace holdfast::software::jit {

using lower::ConvergencePoint;
using lower::kExit;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

void FullPath::CreateBlocks() {
  for (size_t k = 0; k < c_.kernel.blocks.size(); ++k) {
    blocks_.push_back(b_.NewBlock(absl::StrCat("full", k)));
  }
}

void FullPath::EmitBlocks() {
  for (size_t k = 0; k < blocks_.size(); ++k) {
    b_.SetInsertPoint(blocks_[k]);
    if (c_.facts.shapes[0].lane_loops[k] >= 0) {
      EmitScalarLoop(k);
    } else {
      EmitBlock(e_, *this, k);
    }
  }
}

// Full code leaves in front of a loop that lanes run one by one: no lane has
// run ahead yet.
// The other blocks of such a loop are reached from its entry only, hence by
// masked code only; they have an LLVM block since every block of the kernel has
// one.
void FullPath::EmitScalarLoop(size_t k) {
  if (!analysis::EntersScalarLoop(c_.kernel, c_.facts.shapes[0].lane_loops,
                                  k)) {
    b_.CreateUnreachable();
    return;
  }
  exits_.LeaveInFrontOf(k);
}

llvm::BasicBlock* FullPath::TargetOf(int target) const {
  return target == kExit ? c_.done : blocks_[target];
}

void FullPath::Branch(const Instruction* instruction, size_t k,
                      llvm::Value* /*rotate*/) {
  const lower::Block& block = c_.kernel.blocks[k];
  auto* next = TargetOf(block.next);
  if (instruction == nullptr) {
    b_.CreateBr(next);
    return;
  }
  auto* taken = TargetOf(block.taken);
  if (instruction->guard.kind == Operand::Kind::kNone) {
    b_.CreateBr(taken);
    return;
  }
  const Value guard =
      e_.instructions.operands().Read(lanes(), instruction->guard, Type::kPred);
  if (guard.shape.varying) return BranchVarying(guard, k);
  b_.CreateCondBr(guard.parts[0], taken, next);
}

// Tests for "all lanes take it" and "no lane does", each one comparison of
// vectors, before the bits of the lanes are collected.
// The weights tell LLVM that lanes hardly ever part, so that code for it is
// laid out behind the kernel.
void FullPath::BranchVarying(const Value& guard, size_t k) {
  const lower::Block& block = c_.kernel.blocks[k];
  auto* not_all = b_.NewBlock("not_all");
  auto* mixed = b_.NewBlock("mixed");
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(e_.values.AllAre(guard, true), TargetOf(block.taken),
                  not_all);
  b_.SetInsertPoint(not_all);
  b_.CreateCondBr(e_.values.AllAre(guard, false), TargetOf(block.next), mixed,
                  metadata.createBranchWeights(1000, 1));
  b_.SetInsertPoint(mixed);
  llvm::Value* taken = e_.values.BitsOfPredicate(guard);
  if (c_.facts.shapes[0].regions[k].empty()) return Diverge(k, taken);
  b_.CreateBr(TargetOf(regions_.Emit(k, taken)));
}

// Leaves for masked code. The registers that either target needs go to the
// frame, and each target gets its lanes as pending. Masked code begins at the
// lower of the two, so that lanes which are behind run first and may still meet
// the others at a join; a target outside of the kernel has nothing to run.
void FullPath::Diverge(size_t k, llvm::Value* taken) {
  const lower::Block& block = c_.kernel.blocks[k];
  std::vector<bool> needed(c_.facts.crosses.size(), false);
  for (const int target : {block.taken, block.next}) {
    if (target == kExit) continue;
    exits_.divergence.roots.insert(target);
    for (size_t r = 0; r < needed.size(); ++r) {
      if (c_.facts.live_registers[target][r]) needed[r] = true;
    }
  }
  exits_.SaveLiveOuts(needed, &exits_.divergence);
  e_.pending.Add(block.taken, taken);
  e_.pending.Add(block.next, b_.CreateNot(taken));
  int first = std::min(block.taken, block.next);
  if (first == kExit) first = std::max(block.taken, block.next);
  if (first == kExit) {
    b_.CreateBr(c_.done);
  } else {
    exits_.Leave(first, &exits_.divergence);
  }
}

namespace {

// Lanes may name different groups, which vote, match or reduce apart. A shuffle
// takes a lane's value whatever group it is in.
bool MayBeOfSeveralGroups(const EmitContext& context,
                          const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kBar ||
      instruction.opcode() == Opcode::kShfl) {
    return false;
  }
  const ptx::Operand& members = instruction.operands.back();
  return members.kind == ptx::Operand::Kind::kRegister &&
         context.ShapeOf(members.index, analysis::Mode::kFull).varying;
}

}  // namespace

// This warp arrives as a whole. At a barrier of the block, `arrive` does not
// wait, and `red` has a value to bring along and to fetch.
void FullPath::Converge(const Step& step) {
  const Instruction& instruction = step.instruction;
  // Some lanes may stay away: masked code knows how.
  if (step.guarded()) return exits_.LeaveInFrontOf(step.block);
  auto* next = TargetOf(c_.kernel.blocks[step.block].next);
  const bool arrives = instruction.modifiers.Has(Modifier::kArrive);
  if (lower::ConvergencePointOf(instruction) == ConvergencePoint::kWarp) {
    if (MayBeOfSeveralGroups(c_, instruction)) {
      return exits_.LeaveInFrontOf(step.block);
    }
    // All lanes run in one function, so they have met.
    if (instruction.opcode() != Opcode::kBar) e_.instructions.Emit(step);
  } else if (!arrives && !instruction.modifiers.Has(Modifier::kRed) &&
             !BarrierEmitter::IsOfCluster(instruction)) {
    e_.barriers.Synchronize(step);
  } else {
    const BarrierEmitter::Round round =
        e_.barriers.Arrive(step, b_.I32(kAllLanes), b_.I32(kAllLanes));
    if (!arrives) {
      e_.barriers.WaitFor(round);
      e_.barriers.WriteReduction(step, round, nullptr);
    }
  }
  b_.CreateBr(next);
}

}  // namespace holdfast::software::jit
