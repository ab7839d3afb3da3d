// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_STREAM_COUNTS_H_
#define HOLDFAST_SERVER_RPC_STREAM_COUNTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace holdfast {

// The HTTP/2 streams of one connection, as gRPC counts them for channelz. A
// stream that the client reset has failed.
struct StreamCounts {
  uint64_t started = 0;
  uint64_t succeeded = 0;
  uint64_t failed = 0;

  // Streams that take memory, including those that were reset and whose call
  // has not been dropped yet.
  uint64_t open() const { return started - succeeded - failed; }
};

// Returns nullopt if there is no such socket, or no longer.
std::optional<StreamCounts> ReadStreamCounts(int64_t channelz_socket);

// Finds the channelz sockets of this process's connections. gRPC numbers
// whatever channelz knows in the order of creation and has no list of the
// connections that a server was handed, so each number is tried once. It gives
// a number out before the socket is constructed, and to ask about it then is a
// call through a null pointer (gRPC 1.51): numbers are tried when they are
// older than kSettle. Not thread-safe.
class ChannelzSockets {
 public:
  // Far more than it takes to make a socket.
  static constexpr absl::Duration kSettle = absl::Milliseconds(30);

  // Returns the sockets that were made kSettle ago or before, and after those
  // of the last call, each by its connection's name as
  // grpc::ServerContext::peer() has it. Those made before a call are found by
  // the first one that is kSettle later.
  std::map<std::string, int64_t> Discover(absl::Time now);

 private:
  int64_t next_ = 1;
  // Numbers below it were given out before `marked_`; 0: there is no mark.
  int64_t mark_ = 0;
  absl::Time marked_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STREAM_COUNTS_H_
