// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills of rows and slices with pitches, and many copies as one
// operation. These functions submit commands, as the methods of Buffer do: the
// next call that waits reports a failure.
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

// The place of a box in a buffer: the offset of its first row, and the bytes
// from one row to the next and from one slice to the next. A pitch of 0 means
// no gaps. The slice pitch is a multiple of the row pitch. Refers to the
// buffer, which must outlive the call.
struct BoxRange {
  const Buffer& buffer;
  uint64_t offset = 0;
  uint64_t row_pitch = 0;
  uint64_t slice_pitch = 0;
};

// Copies a box, also between devices. Boxes in one buffer must not overlap;
// interleaved boxes must have equal pitches. The next call that waits fails
// with INVALID_ARGUMENT or OUT_OF_RANGE if a range is wrong.
absl::Status CopyBox(const Box& box, const BoxRange& destination,
                     const BoxRange& source, const Stream& stream);

// Fills `height` rows of `width` bytes with a repeated pattern. Width, offset
// and row pitch must be multiples of the pattern's size. REQUIRES: pattern_size
// is 1, 2 or 4.
absl::Status FillRowBytes(const void* pattern, size_t pattern_size,
                          const BoxRange& range, uint64_t width,
                          uint64_t height, const Stream& stream);
// Fills rows with a value of a type with 1, 2 or 4 bytes.
template <typename T>
requires(std::is_trivially_copyable_v<T> &&
         (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4)) absl::Status
    FillRows(T pattern, const BoxRange& range, uint64_t width, uint64_t height,
             const Stream& stream) {
  return FillRowBytes(&pattern, sizeof pattern, range, width, height, stream);
}

// One copy of CopyAll; sizes and offsets in bytes. Refers to the buffers, which
// must outlive the call.
struct RangeCopy {
  const Buffer& destination;
  uint64_t destination_offset = 0;
  const Buffer& source;
  uint64_t source_offset = 0;
  uint64_t size = 0;
};

// Submits all copies as one operation, which makes them in any order. If the
// daemon refuses one of the copies, it makes none. OUT_OF_RANGE: a range is
// beyond the end of its buffer; nothing is submitted.
absl::Status CopyAll(std::span<const RangeCopy> copies, const Stream& stream);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_BOX_COPY_H_
