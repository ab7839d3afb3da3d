// SPDX-License-Identifier: Apache-2.0
//
// Lanes that part for a few instructions, as for an if without a loop in it:
// full code runs both sides under masks, and stays what it is.
//
// This saves the way through masked code and its frame in memory, and keeps
// uniform values uniform. Blocks of a region are in layout order and lead
// forward only (BranchRegion), so that each runs once: a word on the stack
// collects the lanes that have to run it, from the branches in front of it, and
// a block that no lane has to run is skipped.
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

// Keeps, of the addresses that were tested in front of a region's block, those
// of registers that it has not written. Addresses that only some lanes have
// tested, or that were made where control may not come, are dropped.
void KernelEmitter::ForgetTestsBut(const std::map<uint32_t, Tested>& before) {
  std::map<uint32_t, Tested> kept;
  for (const auto& [index, tested] : before) {
    const auto now = tested_.find(index);
    if (now != tested_.end() && now->second.start.parts == tested.start.parts) {
      kept.emplace(index, tested);
    }
  }
  tested_ = std::move(kept);
}

// `taken`: the lanes that take the branch at the end of block k.
void KernelEmitter::EmitRegion(size_t k, llvm::Value* taken) {
  const lower::Block& block = kernel_.blocks[k];
  const int join = shapes_[0].joins[k];
  region_bits_.clear();
  region_bits_[join] = b_.AllocaAtEntry(b_.getInt32Ty());
  for (const int at : shapes_[0].regions[k]) {
    region_bits_[at] = b_.AllocaAtEntry(b_.getInt32Ty());
  }
  for (const auto& [at, bits] : region_bits_) b_.CreateStore(b_.I32(0), bits);
  AddToRegion(block.taken, taken);
  AddToRegion(block.next, b_.CreateNot(taken));
  for (const int at : shapes_[0].regions[k]) {
    auto* run = b_.NewBlock("region");
    auto* after = b_.NewBlock("region.after");
    region_ = LoadI32(region_bits_[at]);
    b_.CreateCondBr(b_.CreateICmpEQ(region_, b_.I32(0)), after, run);
    b_.SetInsertPoint(run);
    const auto tested = tested_;
    EmitRegionBlock(static_cast<size_t>(at));
    ForgetTestsBut(tested);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
  region_ = nullptr;
  predicates_.clear();
  block_at_ = k;
  b_.CreateBr(FullTarget(join));
}

// A block under the mask `region_`. A branch at its end splits the mask.
void KernelEmitter::EmitRegionBlock(size_t k) {
  const lower::Block& block = kernel_.blocks[k];
  block_at_ = k;
  predicates_.clear();
  const uint32_t last = block.branches ? block.last - 1 : block.last;
  for (uint32_t i = block.first; i < last; ++i) {
    EmitInstruction(kernel_.function->body[i]);
  }
  if (!block.branches) return AddToRegion(block.next, region_);
  const Instruction& branch = kernel_.function->body[last];
  llvm::Value* taken = region_;
  if (branch.guard.kind != Operand::Kind::kNone) {
    llvm::Value* guard = BitsOfPredicate(Read(branch.guard, Type::kPred));
    taken = b_.CreateAnd(region_, guard);
    AddToRegion(block.next, b_.CreateAnd(region_, b_.CreateNot(guard)));
  }
  AddToRegion(block.taken, taken);
}

// Makes the lanes `bits` run block `target`, or wait at the join.
void KernelEmitter::AddToRegion(int target, llvm::Value* bits) {
  llvm::AllocaInst* sum = region_bits_.at(target);
  b_.CreateStore(b_.CreateOr(LoadI32(sum), bits), sum);
}

// Masked code takes over within a region: it has to know the lanes of all
// other blocks.
void KernelEmitter::PendRegion() {
  for (const auto& [at, bits] : region_bits_) {
    if (at == static_cast<int>(block_at_)) continue;
    if (at != lower::kExit) wrapping_.roots.insert(at);
    Pend(at, LoadI32(bits));
  }
}

}  // namespace holdfast::software::jit
