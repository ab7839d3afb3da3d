// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/place.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

absl::Status CheckSession(const Place& place, const Stream& stream) {
  if (place.session() == stream.session()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the memory and the stream belong to different sessions");
}

// Bytes from the first row's beginning to behind the last row; UINT64_MAX: more
// than 64 bits can count.
absl::StatusOr<uint64_t> ExtentOf(const Rows& rows) {
  if (rows.width == 0 || rows.height == 0) {
    return absl::InvalidArgumentError(absl::StrCat("a fill of ", rows.height,
                                                   " rows of ", rows.width,
                                                   " bytes: at least 1 each"));
  }
  using Wide = unsigned __int128;
  const Wide pitch = rows.pitch != 0 ? rows.pitch : rows.width;
  const Wide extent = (rows.height - 1) * pitch + rows.width;
  return extent > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(extent);
}

absl::Status SetPattern(absl::string_view pattern, v1::FillRect& fill) {
  uint32_t value = 0;
  if (pattern.size() <= sizeof value) {
    std::memcpy(&value, pattern.data(), pattern.size());
  }
  switch (pattern.size()) {
    case 1:
      fill.set_byte(value);
      return absl::OkStatus();
    case 2:
      fill.set_half_word(value);
      return absl::OkStatus();
    case 4:
      fill.set_word(value);
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "a pattern of ", pattern.size(), " bytes: 1, 2 or 4 are possible"));
  }
}

absl::Status CheckWhole(const Rows& rows, size_t pattern) {
  const uint64_t pitch = rows.height > 1 ? rows.pitch : 0;
  if (rows.width % pattern == 0 && pitch % pattern == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "rows of ", rows.width, " bytes with a pitch of ", pitch,
      " are no whole numbers of the pattern's ", pattern, " bytes"));
}

}  // namespace

uint64_t Place::handle() const {
  return buffer_ != nullptr ? buffer_->handle() : span_->arena().handle();
}

uint64_t Place::offset() const {
  return buffer_ != nullptr ? offset_ : span_->offset() + offset_;
}

const std::shared_ptr<SessionState>& Place::session() const {
  return buffer_ != nullptr ? buffer_->session() : span_->arena().session();
}

absl::Status Place::Check(uint64_t size) const {
  if (buffer_ != nullptr) return buffer_->CheckRange(offset_, size);
  if (offset_ > span_->size() || size > span_->size() - offset_) {
    return absl::OutOfRangeError(absl::StrCat(size, " bytes at offset ",
                                              offset_, " of a span of ",
                                              span_->size(), " bytes"));
  }
  return span_->arena().Ready();
}

absl::StatusOr<v1::CopyBuffer> CopyMessage(const Place& destination,
                                           const Place& source, uint64_t size) {
  HOLDFAST_RETURN_IF_ERROR(destination.Check(size));
  HOLDFAST_RETURN_IF_ERROR(source.Check(size));
  v1::CopyBuffer copy;
  copy.set_destination(destination.handle());
  copy.set_destination_offset(destination.offset());
  copy.set_source(source.handle());
  copy.set_source_offset(source.offset());
  copy.set_size(size);
  return copy;
}

absl::StatusOr<v1::FillRect> FillMessage(const Place& destination,
                                         const Rows& rows,
                                         absl::string_view pattern) {
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t extent, ExtentOf(rows));
  HOLDFAST_RETURN_IF_ERROR(destination.Check(extent));
  v1::FillRect fill;
  HOLDFAST_RETURN_IF_ERROR(SetPattern(pattern, fill));
  HOLDFAST_RETURN_IF_ERROR(CheckWhole(rows, pattern.size()));
  fill.mutable_destination()->set_buffer(destination.handle());
  fill.mutable_destination()->set_offset(destination.offset());
  fill.mutable_destination()->set_row_pitch(rows.height > 1 ? rows.pitch : 0);
  fill.set_width(rows.width);
  fill.set_height(rows.height);
  return fill;
}

absl::Status Copy(const Place& destination, const Place& source, uint64_t size,
                  const Stream& stream) {
  HOLDFAST_RETURN_IF_ERROR(CheckSession(destination, stream));
  HOLDFAST_RETURN_IF_ERROR(CheckSession(source, stream));
  HOLDFAST_ASSIGN_OR_RETURN(v1::CopyBuffer copy,
                            CopyMessage(destination, source, size));
  copy.set_stream(stream.handle());
  return stream.Submit(
      [&](v1::Command& command) { *command.mutable_copy_buffer() = copy; });
}

absl::Status Fill(const Place& destination, const Rows& rows,
                  absl::string_view pattern, const Stream& stream) {
  HOLDFAST_RETURN_IF_ERROR(CheckSession(destination, stream));
  HOLDFAST_ASSIGN_OR_RETURN(v1::FillRect fill,
                            FillMessage(destination, rows, pattern));
  fill.set_stream(stream.handle());
  return stream.Submit(
      [&](v1::Command& command) { *command.mutable_fill_rect() = fill; });
}

}  // namespace holdfast
