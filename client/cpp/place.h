// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills of device memory and of page-locked memory of this process.
// Each is work of a stream, or a node of a graph (graph/node_params.h). No call
// waits for that work; a call with a new arena waits until the arena is ready.
#ifndef HOLDFAST_CLIENT_CPP_PLACE_H_
#define HOLDFAST_CLIENT_CPP_PLACE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/buffer.h"
#include "client/cpp/stream.h"
#include "client/cpp/transfer/arena.h"

namespace holdfast {

namespace v1 {
class CopyBuffer;
class FillRect;
}  // namespace v1

// The bytes of a buffer, or of a span of an arena, from an offset to the end.
// Refers to the buffer or span, which must outlive the call.
class Place {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a buffer is a place.
  Place(const Buffer& buffer, uint64_t offset = 0)
      : buffer_(&buffer), offset_(offset) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a span is a place.
  Place(const ArenaSpan& span, uint64_t offset = 0)
      : span_(&span), offset_(offset) {}

  // The handle of the buffer or the arena, and the offset in it, in bytes.
  uint64_t handle() const;
  uint64_t offset() const;
  const std::shared_ptr<SessionState>& session() const;
  // Checks that the place has at least `size` bytes; OUT_OF_RANGE: it has
  // fewer. Waits until an arena is ready, and fails as Arena::Ready does.
  absl::Status Check(uint64_t size) const;

 private:
  const Buffer* buffer_ = nullptr;
  const ArenaSpan* span_ = nullptr;
  uint64_t offset_;
};

// Rows of bytes, over which a fill repeats a pattern of 1, 2 or 4 bytes.
struct Rows {
  uint64_t width = 0;
  uint64_t height = 1;
  // Bytes from one row to the next; 0: there are no gaps.
  uint64_t pitch = 0;
};

// Return the message of a copy or a fill, without its stream. OUT_OF_RANGE: a
// place has too few bytes. INVALID_ARGUMENT: the pattern is not 1, 2 or 4
// bytes, or the width or pitch is not a multiple of it.
absl::StatusOr<v1::CopyBuffer> CopyMessage(const Place& destination,
                                           const Place& source, uint64_t size);
absl::StatusOr<v1::FillRect> FillMessage(const Place& destination,
                                         const Rows& rows,
                                         absl::string_view pattern);

// Submit a copy or a fill. Ranges in one buffer or arena must not overlap.
// INVALID_ARGUMENT: memory and stream belong to different sessions.
absl::Status Copy(const Place& destination, const Place& source, uint64_t size,
                  const Stream& stream);
absl::Status Fill(const Place& destination, const Rows& rows,
                  absl::string_view pattern, const Stream& stream);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_PLACE_H_
