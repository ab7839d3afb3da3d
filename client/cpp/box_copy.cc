// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/box_copy.h"

#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

void Describe(const BoxRange& range, v1::PitchedRange& message) {
  message.set_buffer(range.buffer.handle());
  message.set_offset(range.offset);
  message.set_row_pitch(range.row_pitch);
  message.set_slice_pitch(range.slice_pitch);
}

}  // namespace

absl::Status CopyBox(const Box& box, const BoxRange& destination,
                     const BoxRange& source, const Stream& stream) {
  return stream.Submit([&](v1::Command& command) {
    v1::CopyRect& copy = *command.mutable_copy_rect();
    copy.set_stream(stream.handle());
    Describe(destination, *copy.mutable_destination());
    Describe(source, *copy.mutable_source());
    copy.set_width(box.width);
    copy.set_height(box.height);
    copy.set_depth(box.depth);
  });
}

absl::Status FillRowBytes(const void* pattern, size_t pattern_size,
                          const BoxRange& range, uint64_t width,
                          uint64_t height, const Stream& stream) {
  uint32_t value = 0;
  std::memcpy(&value, pattern, pattern_size);
  return stream.Submit([&](v1::Command& command) {
    v1::FillRect& fill = *command.mutable_fill_rect();
    fill.set_stream(stream.handle());
    Describe(range, *fill.mutable_destination());
    fill.set_width(width);
    fill.set_height(height);
    if (pattern_size == 1) {
      fill.set_byte(value);
    } else if (pattern_size == 2) {
      fill.set_half_word(value);
    } else {
      fill.set_word(value);
    }
  });
}

absl::Status CopyAll(std::span<const RangeCopy> copies, const Stream& stream) {
  for (const RangeCopy& copy : copies) {
    HOLDFAST_RETURN_IF_ERROR(
        copy.destination.CheckRange(copy.destination_offset, copy.size));
    HOLDFAST_RETURN_IF_ERROR(
        copy.source.CheckRange(copy.source_offset, copy.size));
  }
  return stream.Submit([&](v1::Command& command) {
    v1::CopyBatch& batch = *command.mutable_copy_batch();
    batch.set_stream(stream.handle());
    for (const RangeCopy& copy : copies) {
      v1::BatchedCopy& message = *batch.add_copies();
      message.set_destination(copy.destination.handle());
      message.set_destination_offset(copy.destination_offset);
      message.set_source(copy.source.handle());
      message.set_source_offset(copy.source_offset);
      message.set_size(copy.size);
    }
  });
}

}  // namespace holdfast
