// SPDX-License-Identifier: Apache-2.0
//
// The channel between the daemon's own processes: carries protobuf messages,
// each with at most one descriptor, over a SOCK_SEQPACKET Unix socket that the
// child inherits.
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto pair, Channel::CreatePair());
//   // ... pair.second becomes the child's; in the parent:
//   Channel channel(std::move(pair.first));
//   HOLDFAST_RETURN_IF_ERROR(channel.Send(message));
//   HOLDFAST_ASSIGN_OR_RETURN(UniqueFd fd, channel.Receive(&reply));
//
// A message that is larger than the socket's buffer travels in a sealed memfd,
// unnoticed by both sides. The other side may be compromised: all input is
// checked, and malformed input is DATA_LOSS, never a crash.
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
  // The most bytes of a message. A compile request with its headers is the
  // largest.
  static constexpr size_t kMaxMessageBytes = size_t{64} << 20;

  // Returns two connected sockets, close-on-exec.
  static absl::StatusOr<std::pair<UniqueFd, UniqueFd>> CreatePair();

  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  // Sends a message and, if `fd` is not -1, a duplicate of that descriptor.
  // UNAVAILABLE: the other end is closed. DEADLINE_EXCEEDED: the other end
  // has not read for 10 s. RESOURCE_EXHAUSTED: over kMaxMessageBytes.
  absl::Status Send(const google::protobuf::MessageLite& message, int fd = -1);

  // Sends without waiting. DEADLINE_EXCEEDED: there is no room now, and nothing
  // was sent.
  absl::Status TrySend(const google::protobuf::MessageLite& message,
                       int fd = -1);

  // Waits for a message. Returns its descriptor; empty if it has none.
  // UNAVAILABLE: the other end is closed, and all its messages were read.
  // DEADLINE_EXCEEDED: no message came. DATA_LOSS: a malformed frame.
  // RESOURCE_EXHAUSTED: the process was at its limit of descriptors, and the
  // kernel dropped some of the message's. `message` is set unless its body's
  // memfd was dropped. The channel can still be used.
  absl::StatusOr<UniqueFd> Receive(
      google::protobuf::MessageLite* message,
      absl::Time deadline = absl::InfiniteFuture());

  // Closes both directions. A waiting Send or Receive, at either end, returns
  // UNAVAILABLE.
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
