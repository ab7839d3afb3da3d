// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_STREAM_COUNTS_H_
#define HOLDFAST_SERVER_RPC_STREAM_COUNTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"

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

// Calls `give`, which gives gRPC a connection; Discover waits for it, but for
// two milliseconds at most. gRPC 1.51 lists a socket before it is constructed,
// and to ask about it then is a call through a null pointer. The socket of a
// TLS connection is made later, when the handshake is over, and is not covered.
// Thread-safe.
void GiveToGrpc(absl::FunctionRef<void()> give);

// Finds the channelz sockets of this process's connections. gRPC numbers
// whatever channelz knows in the order of creation and has no list of the
// connections that a server was handed, so the numbers are tried one by one.
// Not thread-safe.
class ChannelzSockets {
 public:
  // Returns the sockets that were made since the last call, each by its
  // connection's name as grpc::ServerContext::peer() has it. Stops after
  // `patience` numbers in a row that stand for nothing.
  std::map<std::string, int64_t> Discover(int64_t patience);

 private:
  int64_t next_ = 1;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STREAM_COUNTS_H_
