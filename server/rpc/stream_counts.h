// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_STREAM_COUNTS_H_
#define HOLDFAST_SERVER_RPC_STREAM_COUNTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace holdfast {

// gRPC's channelz counts of the HTTP/2 streams of one connection. A stream that
// the client has reset counts as failed.
struct StreamCounts {
  uint64_t started = 0;
  uint64_t succeeded = 0;
  uint64_t failed = 0;

  // Returns the number of streams that take memory, including streams that were
  // reset and whose call gRPC has not dropped yet.
  uint64_t open() const { return started - succeeded - failed; }
};

// Returns the counts of a channelz socket; nullopt if there is no such socket.
std::optional<StreamCounts> ReadStreamCounts(int64_t channelz_socket);

// Finds the channelz sockets of this process's connections. gRPC numbers all
// channelz objects in the order of creation, and does not list connections that
// a server got as descriptors, so this class tries each number once. gRPC 1.51
// assigns a number before it has constructed the socket, and a query at that
// moment calls through a null pointer. Numbers are therefore tried only kSettle
// after they were assigned. Not thread-safe.
class ChannelzSockets {
 public:
  // Far longer than gRPC takes to construct a socket.
  static constexpr absl::Duration kSettle = absl::Milliseconds(30);

  // Returns the sockets that are at least kSettle old and were not returned
  // before; the key is grpc::ServerContext::peer() of the connection. A socket
  // that exists at one call is returned at the latest by the first call that is
  // kSettle later.
  std::map<std::string, int64_t> Discover(absl::Time now);

 private:
  int64_t next_ = 1;
  // Numbers below mark_ were assigned before the time marked_; 0: there is no
  // mark.
  int64_t mark_ = 0;
  absl::Time marked_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STREAM_COUNTS_H_
