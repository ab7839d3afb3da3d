// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills where either side may be memory of a device or page-locked
// memory of this process. All are work of a stream, or nodes of a graph
// (graph/node_params.h); none waits.
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
#include "holdfast/v1/buffer_commands.pb.h"

namespace holdfast {

// Bytes of a buffer, or of a span of an arena, from an offset to its end.
// Refers to it: it must outlive the call.
class Place {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a buffer is a place.
  Place(const Buffer& buffer, uint64_t offset = 0)
      : buffer_(&buffer), offset_(offset) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a span is a place.
  Place(const ArenaSpan& span, uint64_t offset = 0)
      : span_(&span), offset_(offset) {}

  // The name in commands of what it is a part of, and bytes from that's start.
  uint64_t handle() const;
  uint64_t offset() const;
  const std::shared_ptr<SessionState>& session() const;
  // OUT_OF_RANGE: it does not have so many bytes. Waits until an arena is
  // ready, and tells if it is not.
  absl::Status Check(uint64_t size) const;

 private:
  const Buffer* buffer_ = nullptr;
  const ArenaSpan* span_ = nullptr;
  uint64_t offset_;
};

// Rows of bytes that a pattern of 1, 2 or 4 bytes is repeated over.
struct Rows {
  uint64_t width = 0;
  uint64_t height = 1;
  // Bytes from one row to the next; 0: without gaps.
  uint64_t pitch = 0;
};

// What a copy and a fill say in commands and in nodes, but for the stream.
// OUT_OF_RANGE: not all bytes are there. INVALID_ARGUMENT: a pattern of another
// size, or what is no whole number of patterns.
absl::StatusOr<v1::CopyBuffer> CopyMessage(const Place& destination,
                                           const Place& source, uint64_t size);
absl::StatusOr<v1::FillRect> FillMessage(const Place& destination,
                                         const Rows& rows,
                                         absl::string_view pattern);

// Within one buffer or arena the ranges must not overlap. INVALID_ARGUMENT: of
// different sessions.
absl::Status Copy(const Place& destination, const Place& source, uint64_t size,
                  const Stream& stream);
absl::Status Fill(const Place& destination, const Rows& rows,
                  absl::string_view pattern, const Stream& stream);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_PLACE_H_
