// SPDX-License-Identifier: Apache-2.0
//
// Limits connections and their streams. gRPC 1.51 limits neither the number of
// connections nor the streams that a client opens and resets at once (HTTP/2
// rapid reset). Each such stream takes about 20 KiB until gRPC has dropped its
// call, and dropping a call takes longer than starting it.
//
// The daemon accepts connections itself. The monitor keeps a duplicate of each
// connection's descriptor. When bytes arrive, but at most every kInterval, it
// reads the stream counts of the active connections. A connection's counts are
// available ChannelzSockets::kSettle after gRPC has got the connection. If a
// client exceeds a limit, its connections are closed, and it is refused for a
// while. While no bytes arrive, the monitor's thread sleeps.
// connection_limits.h has the limits.
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
  // The least time between two reads of the counts.
  static constexpr absl::Duration kInterval = absl::Milliseconds(50);

  struct Options {
    size_t max_connections = 0;
    // The name of the limit in the log.
    std::string set_by = "--max-connections";
    // The client name under which LogFor counts all lines; empty: each client's
    // own name.
    std::string log_as;
  };

  // Starts the monitor's thread. Clients share `max_connections` as FairShare
  // defines, but an idle connection of the client with the most connections is
  // closed for a new one.
  explicit ConnectionMonitor(Options options);
  // Ends the thread. Leaves the connections open.
  ~ConnectionMonitor();

  // Registers a connection that gRPC will name `peer`. Duplicates `fd`, which
  // stays the caller's. Returns false if the connection is refused; the caller
  // then closes it. `streams` are the client's limits. Each connection counts
  // as kConnectionCost failed streams, so that a client that connects too often
  // is refused, too.
  bool Admit(int fd, const std::string& peer, const std::string& client,
             const StreamLimits& streams = kClientStreams);

  // Moves the connection to `client`. Its open streams then count for the new
  // client; streams that have failed before still count for the old client. Has
  // no effect if there is no such connection.
  void Reassign(const std::string& peer, const std::string& client,
                const StreamLimits& streams = kClientStreams);

  // Closes the connection, and drops bytes that gRPC has not read. Returns
  // false if there is no such connection.
  bool End(const std::string& peer);

  // Returns true if a connection that was admitted as `peer` is open.
  bool Has(const std::string& peer) const;
  // The number of open, admitted connections.
  size_t connections() const;

 private:
  // A connection that was admitted. gRPC has another descriptor of it.
  struct Connection {
    UniqueFd fd;  // duplicate
    std::string peer;
    std::string client;
    int64_t channelz_socket = 0;  // 0: not known yet
    StreamCounts counts;
    absl::Time last_active;  // when it was last seen with a stream
    // Until this time, Discover searches its channelz socket even if no bytes
    // arrive.
    absl::Time search_until;
  };
  // The sums of a client's connections. Dropped when the client has no
  // connection and no failed streams, and is not banned.
  struct Client {
    StreamLimits limits = kClientStreams;
    size_t connections = 0;
    uint64_t open_streams = 0;
    double failed_streams = 0;  // reduced with time
    absl::Time forgiven;        // when failed_streams was last reduced
    absl::Time banned_until = absl::InfinitePast();
  };
  using Connections = std::map<uint64_t, Connection>;

  // The thread's loop: waits for bytes, reads the counts, pauses for kInterval.
  void Run();
  Connections::iterator Find(const std::string& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const std::string& LoggedAs(const std::string& client) const {
    return options_.log_as.empty() ? client : options_.log_as;
  }
  // Reads the connection's stream counts, and adds the changes to the counts of
  // its client.
  void Look(Connection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Finds the sockets of connections that gRPC has accepted meanwhile.
  void Discover(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reduces the failed streams by the time since the last call.
  Client& Forgive(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Closes all connections of a client that is over a limit, and bans it.
  void BanIfOver(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // If there is no room, closes an idle connection of a client with at least as
  // many connections. Returns false if there is no such connection.
  bool MakeRoom(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads the counts of all connections, at most once in kInterval.
  void LookAtAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Resets the connection, so that a sending client gets an error.
  void Close(Connections::iterator connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets the connection, which has ended or is about to.
  void Drop(Connections::iterator connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes epoll report one event for the next bytes of the connection `id`.
  // `operation` is EPOLL_CTL_ADD or EPOLL_CTL_MOD.
  void Watch(uint64_t id, int fd, int operation);
  // Drops the entries of clients that no longer need one.
  void ForgetClients() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns freed memory to the system if it is due and useful.
  void TrimMemory() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if a connection's socket is searched without new bytes.
  bool IsSearching(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the milliseconds for which Run may wait for bytes; -1: no limit.
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
  // The time to return freed memory to the system, after a connection has
  // ended.
  absl::Time trim_due_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONNECTION_MONITOR_H_
