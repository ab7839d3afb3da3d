// SPDX-License-Identifier: Apache-2.0
//
// How far ahead is measured, not guessed: a loop notes the address of its last
// round on the stack, and takes the distance that it has gone as the one that
// it will go. Without a loop, 1 KiB: the next warps of the block are taken to
// access the next places.
#include "core/software/jit/prefetcher.h"

#include <cstdlib>

#include "core/software/jit/spaces.h"

namespace holdfast::software::jit {

using ptx::Operand;
using ptx::Space;

namespace {

constexpr int kLine = 64;        // bytes that are fetched together
constexpr int kAhead = 1024;     // bytes, to what the next warps access
constexpr uint64_t kRounds = 4;  // of a loop
// In a loop, how many times as far ahead the second-level cache fetches. Not
// where other warps run between two rounds, at a barrier: that is time enough.
constexpr uint64_t kFurther = 4;
// Locality hints, as the prefetch instructions number them.
constexpr uint32_t kFirstLevel = 3;
constexpr uint32_t kSecondLevel = 2;

}  // namespace

void Prefetcher::Prefetch(const Step& step, const Operand& place,
                          const Value& address, bool write) const {
  const Space space = SpaceOf(step.instruction);
  if (space != Space::kGlobal && space != Space::kGeneric) return;
  const auto bytes =
      static_cast<uint64_t>(lower::AccessBytes(step.instruction));
  if (step.lanes.Mask(b_) != nullptr || address.shape.varying ||
      address.shape.stride != static_cast<int64_t>(bytes) ||
      IsFetched(step, place, bytes)) {
    return;
  }
  llvm::Value* distance = Distance(step, address.parts[0], bytes);
  FetchAt(address, bytes, distance, kFirstLevel, write);
  if (c_.facts.own_loops[step.block] < 0) return;
  FetchAt(address, bytes, b_.CreateMul(distance, b_.getInt64(kFurther)),
          kSecondLevel, write);
}

// All lines that the lanes access, `distance` further on.
void Prefetcher::FetchAt(const Value& address, uint64_t bytes,
                         llvm::Value* distance, uint32_t level,
                         bool write) const {
  const int parts = static_cast<int>(address.parts.size());
  const auto size = static_cast<int>(analysis::kWarpLanes * bytes) / parts;
  for (llvm::Value* part : address.parts) {
    llvm::Value* first = v_.Pointer(b_.CreateAdd(part, distance));
    for (int at = 0; at < size; at += kLine) {
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {b_.CreateConstGEP1_32(b_.getInt8Ty(), first, at),
                          b_.I32(write ? 1 : 0), b_.I32(level),
                          /*data=*/b_.I32(1)});
    }
  }
}

// Whether most of it has been: for neighbours, as in a stencil, or for the load
// of what is now stored.
bool Prefetcher::IsFetched(const Step& step, const Operand& place,
                           uint64_t bytes) const {
  if (place.kind != Operand::Kind::kRegister || step.guarded()) {
    return false;
  }
  const auto [at, is_new] =
      notes_.prefetch.offsets.try_emplace(place.index, place.offset);
  const auto width = static_cast<int64_t>(analysis::kWarpLanes * bytes) / 2;
  if (!is_new && std::abs(at->second - place.offset) < width) return true;
  at->second = place.offset;
  return false;
}

// From what is accessed at `place` to what will be soon, in bytes. The accesses
// of a block are taken to go alike. If a loop has gone nearly nowhere, as
// between threads that run one round each, other warps come next.
llvm::Value* Prefetcher::Distance(const Step& step, llvm::Value* place,
                                  uint64_t bytes) const {
  if (c_.facts.loops[step.block] < 0) return b_.getInt64(kAhead);
  if (notes_.prefetch.distance != nullptr && notes_.prefetch.bytes == bytes) {
    return notes_.prefetch.distance;
  }
  llvm::AllocaInst* last = b_.AllocaAtEntry(b_.getInt64Ty());
  llvm::IRBuilder<>(last->getNextNode()).CreateStore(b_.getInt64(0), last);
  llvm::Value* round =
      b_.CreateSub(place, b_.CreateLoad(b_.getInt64Ty(), last));
  b_.CreateStore(place, last);
  llvm::Value* far = b_.CreateMul(round, b_.getInt64(kRounds));
  llvm::Value* is_near = b_.CreateICmpULT(
      b_.CreateAdd(far, b_.getInt64(kAhead)), b_.getInt64(2 * kAhead));
  llvm::Value* distance = b_.CreateSelect(is_near, b_.getInt64(kAhead), far);
  if (!step.guarded()) {
    notes_.prefetch.distance = distance;
    notes_.prefetch.bytes = bytes;
  }
  return distance;
}

}  // namespace holdfast::software::jit
