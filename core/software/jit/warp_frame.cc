// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/warp_frame.h"

namespace holdfast::software::jit {
namespace {

uint64_t Aligned(uint64_t bytes) {
  constexpr uint64_t kMask = WarpFrame::kAlignment - 1;
  return (bytes + kMask) & ~kMask;
}

}  // namespace

WarpFrame::WarpFrame(size_t blocks, size_t registers)
    : blocks_(blocks),
      registers_(registers, kNone),
      live_outs_(registers, kNone),
      bytes_(Aligned(Parked(blocks))) {}

// Behind everything that is there, at the first call for a register; later
// calls find its place. Vectors of 64 bytes begin at multiples of 64, so that
// none lies across two lines of the cache.
uint64_t WarpFrame::Room(uint64_t* place, uint64_t bytes) {
  if (*place == kNone) {
    if (bytes >= kAlignment) bytes_ = Aligned(bytes_);
    *place = bytes_;
    bytes_ += (bytes + 7) & ~uint64_t{7};
  }
  return *place;
}

}  // namespace holdfast::software::jit
