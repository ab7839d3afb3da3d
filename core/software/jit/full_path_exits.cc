// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/full_path_exits.h"

#include "core/software/analysis/control_flow.h"
#include "llvm/IR/MDBuilder.h"

namespace holdfast::software::jit {

using analysis::Mode;
using ptx::Instruction;

int FullPathExits::EntryInFrontOf(const Instruction& instruction) const {
  const auto found = resumed_.find(&instruction);
  return found == resumed_.end() ? -1 : found->second;
}

// A register goes to the frame in the shape of full code: one scalar if it is
// uniform or affine over the warp.
void FullPathExits::SaveLiveOuts(const std::vector<bool>& registers,
                                 FullPathExit* exit) {
  pending_.SetAllLive();
  for (uint32_t r = 0; r < registers.size(); ++r) {
    if (!registers[r]) continue;
    exit->live_outs.insert(r);
    const auto from = registers_.StorageOf(r, Mode::kFull);
    const auto to = registers_.LiveOutStorage(r);
    for (size_t i = 0; i < from.size(); ++i) {
      b_.CreateStore(b_.CreateLoad(from[i].type, from[i].pointer),
                     to[i].pointer);
    }
  }
}

// All exits for one reason share one call of masked code, which has the entry's
// number as an argument: a call site keeps many registers alive, and kernels
// have hundreds of exits.
void FullPathExits::Leave(int entry, FullPathExit* exit) {
  exit->entries.insert(entry);
  if (exit->block == nullptr) exit->block = b_.NewBlock("diverged");
  b_.CreateStore(b_.getInt32(entry), entry_number_);
  b_.CreateBr(exit->block);
}

// No lane has run anything of block `k` yet, so that masked code has it run by
// all.
void FullPathExits::LeaveInFrontOf(size_t k) {
  divergence.roots.insert(static_cast<int>(k));
  divergence.masked_only.insert(static_cast<int>(k));
  SaveLiveOuts(c_.facts.live_registers[k], &divergence);
  pending_.Add(static_cast<int>(k), b_.I32(kAllLanes));
  Leave(static_cast<int>(k), &divergence);
}

// By register: needed in front of the instruction, or, in a region, by the
// lanes that wait for it at other blocks.
std::vector<bool> FullPathExits::NeededAt(const Step& step) const {
  std::vector<bool> needed = analysis::LiveRegistersAt(
      c_.kernel, c_.facts.live_registers, step.block, step.IndexIn(c_.kernel));
  if (step.region == nullptr) return needed;
  for (const auto& [at, bits] : *step.region) {
    if (at == lower::kExit) continue;
    for (size_t r = 0; r < needed.size(); ++r) {
      if (c_.facts.live_registers[at][r]) needed[r] = true;
    }
  }
  return needed;
}

// i1: whether the last lane of some unit, `distance` from its base, is another
// number when it is narrow than when it is wide.
// Lanes lie in order between base and end, less than 2^31 apart, so that none
// wraps unless the last does.
llvm::Value* FullPathExits::Overflows(const Value& narrow,
                                      int32_t distance) const {
  const auto widened = [&](llvm::Value* value) {
    return ptx::IsSigned(narrow.type) ? b_.CreateSExt(value, b_.getInt64Ty())
                                      : b_.CreateZExt(value, b_.getInt64Ty());
  };
  llvm::Value* overflows = b_.getFalse();
  for (llvm::Value* base : narrow.parts) {
    llvm::Value* end = b_.CreateAdd(
        widened(base), b_.getInt64(static_cast<uint64_t>(int64_t{distance})));
    llvm::Value* back = widened(b_.CreateTrunc(end, b_.getInt32Ty()));
    overflows = b_.CreateOr(overflows, b_.CreateICmpNE(back, end));
  }
  return overflows;
}

// Masked code takes over in front of the instruction, which it then runs with
// values that have been widened lane by lane.
// Full code keeps an index such as i = blockIdx.x * n + threadIdx.x as base and
// stride, and wants to keep it so when it is widened to 64 bits for an address.
// It may: (int64)(base + lane * stride) is (int64)base + lane * stride, unless
// the 32-bit sum wraps in some lane. Hence the test here, whose failure is an
// exit of its own (core/software/README.md, Overflow).
//
// The exit is in front of the instruction, not of its block: what the block has
// done up to there is done, and must not be done again. So each such
// instruction gets a number behind those of the blocks, and masked code a place
// to be entered at (MaskedPath::EnterInFrontOf).
void FullPathExits::CheckNoOverflow(const Step& step, const Value& narrow) {
  const int lanes = narrow.shape.wide ? analysis::kWarpLanes : c_.lanes();
  int32_t distance = 0;
  if (__builtin_mul_overflow(narrow.shape.stride, lanes - 1, &distance)) {
    // A value that wraps for every base is varying (analysis/lane_shape.cc).
    return c_.Fail(step.instruction, "the stride of an index is too large");
  }
  llvm::Value* overflows = Overflows(narrow, distance);
  auto* leave = b_.NewBlock("wraps");
  auto* go_on = b_.NewBlock("no_wrap");
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(overflows, leave, go_on,
                  metadata.createBranchWeights(1, 1000000));
  b_.SetInsertPoint(leave);
  SaveLiveOuts(NeededAt(step), &overflow);
  b_.CreateStore(step.lanes.Exec(b_), c_.Slot(c_.layout.Resumed()));
  if (step.region != nullptr) PendRegion(step);
  overflow.roots.insert(static_cast<int>(step.block));
  const auto number =
      static_cast<int>(c_.kernel.blocks.size() + resumed_.size());
  Leave(resumed_.emplace(&step.instruction, number).first->second, &overflow);
  b_.SetInsertPoint(go_on);
}

// Masked code takes over within a region: it has to know the lanes of all other
// blocks.
void FullPathExits::PendRegion(const Step& step) {
  for (const auto& [at, bits] : *step.region) {
    if (at == static_cast<int>(step.block)) continue;
    if (at != lower::kExit) overflow.roots.insert(at);
    pending_.Add(at, b_.LoadI32(bits));
  }
}

}  // namespace holdfast::software::jit
