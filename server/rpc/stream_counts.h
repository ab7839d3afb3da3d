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

  // Streams that take memory, including those that were reset and whose call
  // has not been dropped yet.
  uint64_t open() const { return started - succeeded - failed; }
};

// Returns nullopt if there is no such socket.
std::optional<StreamCounts> ReadStreamCounts(int64_t channelz_socket);

// Finds the channelz sockets of this process's connections. gRPC numbers all
// channelz objects in the order of creation, and does not list connections that
// a server got as descriptors, so each number is tried once. gRPC 1.51 assigns
// the number before the socket is constructed, and a query then calls through a
// null pointer, so numbers are tried only after kSettle. Not thread-safe.
class ChannelzSockets {
 public:
  // Far more than it takes to make a socket.
  static constexpr absl::Duration kSettle = absl::Milliseconds(30);

  // Returns the sockets that are at least kSettle old and were not returned
  // before, each by its connection's grpc::ServerContext::peer(). A socket that
  // was made before a call is found by the first call that is kSettle later.
  std::map<std::string, int64_t> Discover(absl::Time now);

 private:
  int64_t next_ = 1;
  // Numbers below it were assigned before `marked_`; 0: there is no mark.
  int64_t mark_ = 0;
  absl::Time marked_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STREAM_COUNTS_H_
