// SPDX-License-Identifier: Apache-2.0
//
// A region is a small forward piece of the flow graph between a branch and its
// join. Its masks are values, not memory: RegionLanes maps each block to a word
// on the stack, which LLVM turns into SSA values, so that an `if` of a few
// instructions costs a few logical operations on masks.
//
// Uniform values stay uniform inside. A write to a varying register is selected
// by the mask; one to a uniform register is not (Registers::Write), which is
// right because the analysis makes every register varying that is written in a
// region and needed at the join (analysis::MergedRegisters): the others are
// read only by the lanes that have just written them.
#include "core/software/jit/region_emitter.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

// Keeps, of the addresses that were tested in front of a region's block, those
// of registers that it has not written. Addresses that only some lanes have
// tested, or that were made where control may not come, are dropped.
void RegionEmitter::KeepTested(const TestedAddresses& before) const {
  TestedAddresses kept;
  for (const auto& [index, tested] : before) {
    const auto now = e_.notes.tested.find(index);
    if (now != e_.notes.tested.end() &&
        now->second.start.parts == tested.start.parts) {
      kept.emplace(index, tested);
    }
  }
  e_.notes.tested = std::move(kept);
}

// Straight code: block after block in the order of the layout, each skipped if
// its word is empty. Branches inside only add lanes to words of blocks further
// on, or to that of the join, where all 32 arrive; the join's word is needed by
// exits within the region alone (FullPathExits::PendRegion).
int RegionEmitter::Emit(size_t k, llvm::Value* taken) const {
  const lower::Block& block = e_.context.kernel.blocks[k];
  const analysis::DivergenceAnalysis& shapes = e_.context.facts.shapes[0];
  const int join = shapes.joins[k];
  RegionLanes region;
  region[join] = b_.AllocaAtEntry(b_.getInt32Ty());
  for (const int at : shapes.regions[k]) {
    region[at] = b_.AllocaAtEntry(b_.getInt32Ty());
  }
  for (const auto& [at, bits] : region) b_.CreateStore(b_.I32(0), bits);
  Add(region, block.taken, taken);
  Add(region, block.next, b_.CreateNot(taken));
  for (const int at : shapes.regions[k]) {
    auto* run = b_.NewBlock("region");
    auto* after = b_.NewBlock("region.after");
    llvm::Value* running = b_.LoadI32(region[at]);
    b_.CreateCondBr(b_.CreateICmpEQ(running, b_.I32(0)), after, run);
    b_.SetInsertPoint(run);
    const TestedAddresses tested = e_.notes.tested;
    EmitBlock(static_cast<size_t>(at), running, region);
    KeepTested(tested);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
  e_.notes.predicates.clear();
  return join;
}

// A block under the mask `running`. A branch at its end splits the mask.
void RegionEmitter::EmitBlock(size_t k, llvm::Value* running,
                              const RegionLanes& region) const {
  const lower::Block& block = e_.context.kernel.blocks[k];
  const auto& body = e_.context.kernel.function->body;
  ActiveLanes lanes;
  lanes.region = running;
  e_.notes.predicates.clear();
  const uint32_t last = block.branches ? block.last - 1 : block.last;
  for (uint32_t i = block.first; i < last; ++i) {
    e_.instructions.Emit({body[i], k, lanes, &region});
  }
  if (!block.branches) return Add(region, block.next, running);
  const Instruction& branch = body[last];
  llvm::Value* taken = running;
  if (branch.guard.kind != Operand::Kind::kNone) {
    llvm::Value* guard = e_.values.BitsOfPredicate(
        e_.instructions.operands().Read(lanes, branch.guard, Type::kPred));
    taken = b_.CreateAnd(running, guard);
    Add(region, block.next, b_.CreateAnd(running, b_.CreateNot(guard)));
  }
  Add(region, block.taken, taken);
}

// Makes the lanes `bits` run block `target`, or wait at the join.
void RegionEmitter::Add(const RegionLanes& region, int target,
                        llvm::Value* bits) const {
  llvm::AllocaInst* sum = region.at(target);
  b_.CreateStore(b_.CreateOr(b_.LoadI32(sum), bits), sum);
}

}  // namespace holdfast::software::jit
