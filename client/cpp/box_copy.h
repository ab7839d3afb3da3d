// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills of rows and slices with pitches, and many copies as one
// operation. Commands like those of Buffer: what fails is told by the next call
// that waits.
//
//   // A tile of 64 x 64 floats of an image whose rows have 4096.
//   CopyBox({.width = 64 * sizeof(float), .height = 64}, {tile},
//           {image, offset, 4096 * sizeof(float)}, stream);
#ifndef HOLDFAST_CLIENT_CPP_BOX_COPY_H_
#define HOLDFAST_CLIENT_CPP_BOX_COPY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "absl/status/status.h"
#include "client/cpp/buffer.h"
#include "client/cpp/stream.h"

namespace holdfast {

// A box of bytes; its dimensions are at least 1.
struct Box {
  uint64_t width = 0;  // bytes a row
  uint64_t height = 1;
  uint64_t depth = 1;
};

// Where a box lies in a buffer: bytes to its first row, from one row and from
// one slice to the next. A pitch of 0: without gaps. A slice pitch is a whole
// number of row pitches. Refers to the buffer, which must outlive the call.
struct BoxRange {
  const Buffer& buffer;
  uint64_t offset = 0;
  uint64_t row_pitch = 0;
  uint64_t slice_pitch = 0;
};

// In one buffer not a byte may be in both boxes; if they are interleaved, they
// have to have the same pitches. INVALID_ARGUMENT, OUT_OF_RANGE: the ranges are
// wrong; told by the next call that waits. Between devices, too.
absl::Status CopyBox(const Box& box, const BoxRange& destination,
                     const BoxRange& source, const Stream& stream);

// `height` rows of `width` bytes, with a repeated pattern of 1, 2 or 4 bytes.
// Width, offset and row pitch are multiples of its size. REQUIRES: pattern_size
// is 1, 2 or 4.
absl::Status FillRowBytes(const void* pattern, size_t pattern_size,
                          const BoxRange& range, uint64_t width,
                          uint64_t height, const Stream& stream);
// The same for a value of a type of that size.
template <typename T>
requires(std::is_trivially_copyable_v<T> &&
         (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4)) absl::Status
    FillRows(T pattern, const BoxRange& range, uint64_t width, uint64_t height,
             const Stream& stream) {
  return FillRowBytes(&pattern, sizeof pattern, range, width, height, stream);
}

// One copy of CopyAll; sizes and offsets in bytes. Refers to the buffers for
// the call.
struct RangeCopy {
  const Buffer& destination;
  uint64_t destination_offset = 0;
  const Buffer& source;
  uint64_t source_offset = 0;
  uint64_t size = 0;
};

// All of them or, if one is refused, none; in no order among themselves.
absl::Status CopyAll(std::span<const RangeCopy> copies, const Stream& stream);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_BOX_COPY_H_
