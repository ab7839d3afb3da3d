// SPDX-License-Identifier: Apache-2.0
//
// Boxes of bytes with pitches, in up to three dimensions: copied and filled in
// stream order. As in copy.h, the caller has checked with BoxExtent and
// CheckRange that the box is in its buffer.
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
  // All three are at least 1; see CompletePitches.
  uint64_t width = 0;  // bytes a row
  uint64_t height = 1;
  uint64_t depth = 1;
};

// The bytes from one row, and from one slice, to the next. 0: no gaps.
struct Pitches {
  uint64_t row = 0;
  uint64_t slice = 0;
};

// Replaces pitches of 0 by their values. INVALID_ARGUMENT: a box without bytes;
// rows or slices that overlap; a slice that is not a whole number of rows.
absl::StatusOr<Pitches> CompletePitches(const Box& box, Pitches pitches);

// The functions below need complete pitches.

// Returns the number of bytes from the first byte to the last. OUT_OF_RANGE:
// more than there are addresses.
absl::StatusOr<uint64_t> BoxExtent(const Box& box, const Pitches& pitches);

// INVALID_ARGUMENT if two boxes of the same size share a byte, or if their
// extents overlap and their pitches differ: that case is refused unchecked.
absl::Status CheckApart(const Box& box, CUdeviceptr a, const Pitches& a_pitches,
                        CUdeviceptr b, const Pitches& b_pitches);

// One side of a copy: the place of the first byte of its first row.
struct BoxPlace {
  CUdeviceptr address = 0;
  Pitches pitches;
  const Context* context = nullptr;  // of the memory; not owned
};

// Returns the driver's form of a copy between addresses. It names no context,
// so it is for copies within one context, and for graphs.
CUDA_MEMCPY3D DescribeCopy(const Box& box, const BoxPlace& destination,
                           const BoxPlace& source);

// cuMemcpy3DAsync; between contexts, cuMemcpy3DPeerAsync. Both places need
// `context`. UNIMPLEMENTED: the driver lacks the function.
absl::Status CopyBoxAsync(const Stream& stream, const Box& box,
                          const BoxPlace& destination, const BoxPlace& source);

// Checks the sizes of rows and pitches against the pattern. Needs no device.
// INVALID_ARGUMENT: as FillBoxAsync.
absl::Status CheckFill(const Box& box, CUdeviceptr destination,
                       const Pitches& pitches, uint32_t pattern,
                       uint32_t pattern_bytes);

// Fills a box of one slice, as FillAsync: cuMemsetD2D8Async, D16, D32. Rows
// without gaps become one fill. REQUIRES: depth is 1.
absl::Status FillBoxAsync(const Stream& stream, const Box& box,
                          CUdeviceptr destination, const Pitches& pitches,
                          uint32_t pattern, uint32_t pattern_bytes);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_BOX_H_
