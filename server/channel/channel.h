// SPDX-License-Identifier: Apache-2.0
//
// How the daemon's own processes talk: protobuf messages, each with at most one
// descriptor, over a SOCK_SEQPACKET Unix socket that the child inherits.
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto pair, Channel::CreatePair());
//   // ... pair.second becomes the child's; in the parent:
//   Channel channel(std::move(pair.first));
//   HOLDFAST_RETURN_IF_ERROR(channel.Send(message));
//   HOLDFAST_ASSIGN_OR_RETURN(UniqueFd fd, channel.Receive(&reply));
//
// A message larger than the socket's buffer travels in a sealed memfd of its
// own; neither side notices. The other side may be compromised: whatever comes
// in is checked, and anything odd is DATA_LOSS, never a crash.
#ifndef HOLDFAST_SERVER_CHANNEL_CHANNEL_H_
#define HOLDFAST_SERVER_CHANNEL_CHANNEL_H_

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"

namespace google::protobuf {
class MessageLite;
}

namespace holdfast {

// Send may be called by several threads at once; Receive by one at a time.
class Channel {
 public:
  // Bytes of one message; a compile request with its headers is the largest.
  static constexpr size_t kMaxMessageBytes = size_t{64} << 20;

  // Two connected sockets, close-on-exec.
  static absl::StatusOr<std::pair<UniqueFd, UniqueFd>> CreatePair();

  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  // Sends a message and, if `fd` is not -1, a duplicate of that descriptor.
  // UNAVAILABLE: the other end is closed. DEADLINE_EXCEEDED: the other end
  // has not read for 10 s. RESOURCE_EXHAUSTED: over kMaxMessageBytes.
  absl::Status Send(const google::protobuf::MessageLite& message, int fd = -1);

  // The same for a sender that must not wait. DEADLINE_EXCEEDED: there is no
  // room now; nothing was sent.
  absl::Status TrySend(const google::protobuf::MessageLite& message,
                       int fd = -1);

  // Waits for a message; returns its descriptor, or an empty one if it has
  // none. UNAVAILABLE: the other end is closed, and all that it had sent is
  // read. DEADLINE_EXCEEDED: nothing came. DATA_LOSS: a malformed frame.
  absl::StatusOr<UniqueFd> Receive(
      google::protobuf::MessageLite* message,
      absl::Time deadline = absl::InfiniteFuture());

  // Ends the conversation; a Send or Receive that waits, on either side,
  // returns UNAVAILABLE.
  void Shutdown();

  // Borrowed; for poll().
  int fd() const { return socket_.get(); }

 private:
  absl::Status Send(const google::protobuf::MessageLite& message, int fd,
                    int flags);

  UniqueFd socket_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_CHANNEL_CHANNEL_H_
