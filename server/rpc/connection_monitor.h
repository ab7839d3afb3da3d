// SPDX-License-Identifier: Apache-2.0
//
// Bounds what connections may cost, since gRPC 1.51 bounds neither their number
// nor the streams that a client opens and resets at once (HTTP/2 rapid reset):
// each such stream takes some 20 KiB until its call has been dropped, which
// takes gRPC longer than starting it.
//
// The daemon accepts connections itself. The monitor keeps a duplicate of each
// connection's descriptor, is woken when bytes arrive, at most every
// kInterval, and then reads the stream counts of the connections that were
// active. It knows a connection's counts ChannelzSockets::kSettle after gRPC
// has it. A client over a limit has its connections closed, and is refused for
// a while. Nothing runs while no bytes arrive. The limits stand in
// connection_limits.h.
#ifndef HOLDFAST_SERVER_RPC_CONNECTION_MONITOR_H_
#define HOLDFAST_SERVER_RPC_CONNECTION_MONITOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "server/rpc/connection_limits.h"
#include "server/rpc/stream_counts.h"

namespace holdfast {

// Thread-safe.
class ConnectionMonitor {
 public:
  static constexpr absl::Duration kInterval = absl::Milliseconds(50);

  struct Options {
    size_t max_connections = 0;
    // Names that limit in the log.
    std::string set_by = "--max-connections";
    // As whom LogFor counts all lines; empty: each client's for itself.
    std::string log_as;
  };

  // `max_connections` is shared as FairShare shares, but that an idle
  // connection of the client with the most makes room for a new one.
  explicit ConnectionMonitor(Options options);
  ~ConnectionMonitor();

  // Takes note of a connection that gRPC will call `peer`. Returns false if it
  // is refused; the caller then closes it. `streams` bounds the client.
  bool Admit(int fd, const std::string& peer, const std::string& client,
             const StreamLimits& streams = kClientStreams);

  // From now on the connection is `client`'s. No effect if there is none.
  void Reassign(const std::string& peer, const std::string& client,
                const StreamLimits& streams = kClientStreams);

  // Closes the connection. Returns false if there is none.
  bool End(const std::string& peer);

  bool Has(const std::string& peer) const;
  size_t connections() const;

 private:
  struct Connection {
    UniqueFd fd;  // duplicate
    std::string peer;
    std::string client;
    int64_t channelz_socket = 0;  // 0: not known yet
    StreamCounts counts;
    absl::Time last_active;  // when it was last seen with a stream
    // Until then its socket is looked for without waiting for bytes.
    absl::Time search_until;
  };
  struct Client {
    StreamLimits limits = kClientStreams;
    size_t connections = 0;
    uint64_t open_streams = 0;
    double failed_streams = 0;  // less those that time has forgiven
    absl::Time forgiven;
    absl::Time banned_until = absl::InfinitePast();
  };
  using Connections = std::map<uint64_t, Connection>;

  void Run();
  Connections::iterator Find(const std::string& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const std::string& LoggedAs(const std::string& client) const {
    return options_.log_as.empty() ? client : options_.log_as;
  }
  void Look(Connection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Discover(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Client& Forgive(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BanIfOver(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MakeRoom(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookAtAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Close(Connections::iterator connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(Connections::iterator connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Watch(uint64_t id, int fd, int operation);
  void ForgetClients() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TrimMemory() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A socket may be found by time alone.
  bool IsSearching(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns how long Run may wait for bytes, in milliseconds; -1: for ever.
  int Patience() const;

  const Options options_;
  const UniqueFd epoll_;
  const UniqueFd stop_;  // an eventfd
  mutable absl::Mutex mutex_;
  ChannelzSockets sockets_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  Connections connections_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Client> clients_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_look_at_all_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // When to give freed memory back, after a connection has ended.
  absl::Time trim_due_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONNECTION_MONITOR_H_
