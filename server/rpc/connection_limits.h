// SPDX-License-Identifier: Apache-2.0
//
// The limits that hold for a client before any of its calls is handled, at the
// sockets of the daemon and of its executors.
#ifndef HOLDFAST_SERVER_RPC_CONNECTION_LIMITS_H_
#define HOLDFAST_SERVER_RPC_CONNECTION_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace holdfast {

// The limits of the HTTP/2 streams of one client, over all its connections.
struct StreamLimits {
  // The most open streams.
  uint64_t open = 0;
  // The number of streams that may fail (by cancellation or reset): `failed` in
  // a burst, and `failed_per_second` more in each second. A new connection
  // counts as kConnectionCost failed streams.
  double failed = 0;
  double failed_per_second = 0;
  // The time for which a client over a limit is refused after its connections
  // were closed.
  absl::Duration ban_time;
};

// The limits of a client that is identified by its user, certificate or
// address, and of all holders of a session's token at the session's executor.
inline constexpr StreamLimits kClientStreams = {.open = 8192,
                                                .failed = 2000,
                                                .failed_per_second = 400,
                                                .ban_time = absl::Seconds(10)};

// The limits of a stranger: a connection to an executor before one of its calls
// has carried the session's token. An executor in its own namespaces cannot
// distinguish users, so each such connection has its own limits.
inline constexpr StreamLimits kStrangerStreams = {
    .open = 64,
    .failed = 64,
    .failed_per_second = 8,
    .ban_time = absl::ZeroDuration()};

inline constexpr double kConnectionCost = 2;

// The most concurrent calls of one connection; further calls wait in the
// client.
inline constexpr int kMaxConcurrentStreams = 1024;

// The time for the handshakes of TLS and HTTP/2, together.
inline constexpr int kHandshakeMs = 20'000;

// The bytes of memory that gRPC uses for all connections of a process before it
// closes some of them.
inline constexpr size_t kMaxConnectionBytes = size_t{1} << 30;

// The most connections to one executor, and the most strangers among them.
// Beyond these limits, a random stranger is closed.
inline constexpr size_t kMaxExecutorConnections = 512;
inline constexpr size_t kMaxStrangers = 64;

// The client name under which LogFor counts lines caused by strangers.
inline constexpr char kStrangers[] = "clients without the session's token";

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONNECTION_LIMITS_H_
