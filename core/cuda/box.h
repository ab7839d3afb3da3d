// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills, in stream order, of boxes: blocks of bytes with pitches, in
// up to three dimensions. REQUIRES: the caller has checked with BoxExtent and
// CheckRange (copy.h) that each box lies in its buffer.
#ifndef HOLDFAST_CORE_CUDA_BOX_H_
#define HOLDFAST_CORE_CUDA_BOX_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "core/cuda/stream.h"
#include "cuda.h"

namespace holdfast::cuda {

// A box of `depth` slices of `height` rows of `width` bytes.
struct Box {
  // All three are at least 1; CompletePitches checks that.
  uint64_t width = 0;  // bytes a row
  uint64_t height = 1;
  uint64_t depth = 1;
};

// The bytes from one row, and from one slice, to the next. 0: no gaps.
struct Pitches {
  uint64_t row = 0;
  uint64_t slice = 0;
};

// Returns `pitches` with each 0 replaced by the pitch of a box without gaps.
// INVALID_ARGUMENT: an extent of the box is 0, its rows or slices overlap, or
// the slice pitch is not a multiple of the row pitch. OUT_OF_RANGE: the box has
// more bytes than there are addresses.
absl::StatusOr<Pitches> CompletePitches(const Box& box, Pitches pitches);

// All functions below REQUIRE pitches from CompletePitches.

// Returns the number of bytes from the first byte of the box to the end of its
// last byte. OUT_OF_RANGE: there are fewer addresses.
absl::StatusOr<uint64_t> BoxExtent(const Box& box, const Pitches& pitches);

// Checks that two boxes of the size `box`, which begin at `a` and `b`, share no
// byte. INVALID_ARGUMENT: they share a byte, or their extents overlap and their
// pitches differ (the second case is refused without a closer check).
absl::Status CheckApart(const Box& box, CUdeviceptr a, const Pitches& a_pitches,
                        CUdeviceptr b, const Pitches& b_pitches);

// One side of a copy: the place of the first byte of its first row.
struct BoxPlace {
  CUdeviceptr address = 0;
  Pitches pitches;
  const Context* context = nullptr;  // of the memory; not owned
};

// Returns the driver's structure for a copy between addresses. The structure
// names no context, so it is for copies within one context, and for graph
// nodes.
CUDA_MEMCPY3D DescribeCopy(const Box& box, const BoxPlace& destination,
                           const BoxPlace& source);

// Enqueues a copy: cuMemcpy3DAsync within one context, cuMemcpy3DPeerAsync
// between two. REQUIRES: `context` of both places is set, and the boxes share
// no byte (CheckApart). UNIMPLEMENTED: the driver lacks the function.
absl::Status CopyBoxAsync(const Stream& stream, const Box& box,
                          const BoxPlace& destination, const BoxPlace& source);

// Makes the checks of FillBoxAsync. Needs no device, so that a command can be
// refused before it is enqueued. INVALID_ARGUMENT: CheckPattern (copy.h)
// refuses the pattern for a row, or the row pitch is not a multiple of
// `pattern_bytes`.
absl::Status CheckFill(const Box& box, CUdeviceptr destination,
                       const Pitches& pitches, uint32_t pattern,
                       uint32_t pattern_bytes);

// Enqueues a fill of a box of one slice, with a pattern as in FillAsync:
// cuMemsetD2D8Async, D16, D32. Fills rows without gaps by FillAsync. Fails as
// CheckFill does. UNIMPLEMENTED: the driver lacks the function. REQUIRES: depth
// is 1.
absl::Status FillBoxAsync(const Stream& stream, const Box& box,
                          CUdeviceptr destination, const Pitches& pitches,
                          uint32_t pattern, uint32_t pattern_bytes);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_BOX_H_
