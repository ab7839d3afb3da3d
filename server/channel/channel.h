// SPDX-License-Identifier: Apache-2.0
//
// A channel between two of the daemon's own processes. It carries protobuf
// messages, each with at most one descriptor, over a SOCK_SEQPACKET Unix socket
// that the child inherits.
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto pair, Channel::CreatePair());
//   // ... the child inherits pair.second; in the parent:
//   Channel channel(std::move(pair.first));
//   HOLDFAST_RETURN_IF_ERROR(channel.Send(message));
//   HOLDFAST_ASSIGN_OR_RETURN(UniqueFd fd, channel.Receive(&reply));
//
// Send puts a message over 64 KiB into a sealed memfd, and Receive reads it
// from there; callers see no difference. The other side may be compromised: all
// input is checked, and malformed input is DATA_LOSS, never a crash.
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

// One end of a channel. Several threads may call Send, TrySend and Shutdown at
// once; one thread at a time may call Receive.
class Channel {
 public:
  // The most bytes of a message. A compile request with its headers is the
  // largest.
  static constexpr size_t kMaxMessageBytes = size_t{64} << 20;

  // Returns two connected sockets, which are close-on-exec.
  static absl::StatusOr<std::pair<UniqueFd, UniqueFd>> CreatePair();

  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  // Sends a message and, if `fd` is not -1, a duplicate of that descriptor.
  // Blocks for up to 10 s while the socket's buffer is full. UNAVAILABLE: the
  // other end is closed. DEADLINE_EXCEEDED: the buffer was full for 10 s.
  // RESOURCE_EXHAUSTED: the message is over kMaxMessageBytes.
  absl::Status Send(const google::protobuf::MessageLite& message, int fd = -1);

  // Like Send, but does not block. DEADLINE_EXCEEDED: the socket's buffer is
  // full, and nothing was sent.
  absl::Status TrySend(const google::protobuf::MessageLite& message,
                       int fd = -1);

  // Blocks until a message comes or `deadline` has passed. Returns the
  // message's descriptor; empty if it has none.
  //  UNAVAILABLE: the other end is closed, and all its messages were read.
  //  DEADLINE_EXCEEDED: no message came.
  //  DATA_LOSS: the message is malformed.
  //  RESOURCE_EXHAUSTED: the process is at its limit of descriptors, and the
  //    kernel has dropped descriptors of the message. `message` is set unless
  //    the memfd with its bytes was dropped. The channel can still be used.
  absl::StatusOr<UniqueFd> Receive(
      google::protobuf::MessageLite* message,
      absl::Time deadline = absl::InfiniteFuture());

  // Closes both directions. A waiting Send or Receive, at either end, returns
  // UNAVAILABLE.
  void Shutdown();

  // The socket, for poll(); the channel keeps it open.
  int fd() const { return socket_.get(); }

 private:
  absl::Status Send(const google::protobuf::MessageLite& message, int fd,
                    int flags);

  UniqueFd socket_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_CHANNEL_CHANNEL_H_
