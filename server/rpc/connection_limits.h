// SPDX-License-Identifier: Apache-2.0
//
// The bounds on what clients cost before a call of theirs is looked at, at the
// daemon's sockets and at those of its executors.
#ifndef HOLDFAST_SERVER_RPC_CONNECTION_LIMITS_H_
#define HOLDFAST_SERVER_RPC_CONNECTION_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace holdfast {

// Bounds on the HTTP/2 streams of one client, over all its connections.
struct StreamLimits {
  // Streams that may be open at once.
  uint64_t open = 0;
  // Streams that may fail, cancelled or reset, at once and each second. A new
  // connection counts as kConnectionCost.
  double failed = 0;
  double failed_per_second = 0;
  // How long a client over a limit is refused after its connections were
  // closed.
  absl::Duration ban_time;
};

// A client that the daemon knows by its user, certificate or address, and the
// holders of a session's token at its executor.
inline constexpr StreamLimits kClientStreams = {.open = 8192,
                                                .failed = 2000,
                                                .failed_per_second = 400,
                                                .ban_time = absl::Seconds(10)};

// One connection to an executor on which no call has carried the session's
// token yet. An executor in namespaces of its own cannot tell users apart, so
// each connection is bounded by itself.
inline constexpr StreamLimits kStrangerStreams = {
    .open = 64,
    .failed = 64,
    .failed_per_second = 8,
    .ban_time = absl::ZeroDuration()};

inline constexpr double kConnectionCost = 2;

// Calls of one connection at once; a client that has more waits by itself.
inline constexpr int kMaxConcurrentStreams = 1024;

// The time for the handshakes of TLS and HTTP/2, together.
inline constexpr int kHandshakeMs = 20'000;

// Bytes that one process's gRPC takes for its connections before it closes
// some of them.
inline constexpr size_t kMaxConnectionBytes = size_t{1} << 30;

// Connections to one executor, and those of them that are strangers': of more,
// one at random is closed.
inline constexpr size_t kMaxExecutorConnections = 512;
inline constexpr size_t kMaxStrangers = 64;

// As whom LogFor counts the lines that strangers cause.
inline constexpr char kStrangers[] = "clients without the session's token";

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONNECTION_LIMITS_H_
