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
  // From one look at connections that had bytes to the next.
  static constexpr absl::Duration kInterval = absl::Milliseconds(50);

  struct Options {
    size_t max_connections = 0;
    // Names that limit in the log.
    std::string set_by = "--max-connections";
    // As whom LogFor counts all lines; empty: each client's for itself.
    std::string log_as;
  };

  // `max_connections` is shared as FairShare shares, but that an idle
  // connection of the client with the most makes room for a new one. Starts the
  // monitor's thread.
  explicit ConnectionMonitor(Options options);
  // Ends the thread; connections stay as they are.
  ~ConnectionMonitor();

  // Takes note of a connection that gRPC will call `peer`. Returns false if it
  // is refused; the caller then closes it. `streams` bounds the client. A
  // connection costs its client something, as a failed stream does, so that one
  // that connects too often is refused, too.
  bool Admit(int fd, const std::string& peer, const std::string& client,
             const StreamLimits& streams = kClientStreams);

  // From now on the connection is `client`'s. No effect if there is none. Its
  // open streams count for the new client; failed ones stay where they were.
  void Reassign(const std::string& peer, const std::string& client,
                const StreamLimits& streams = kClientStreams);

  // Closes the connection. Returns false if there is none. Takes away what the
  // client has sent and gRPC has not read.
  bool End(const std::string& peer);

  // By the name that Admit was given.
  bool Has(const std::string& peer) const;
  // Those that are open and were admitted.
  size_t connections() const;

 private:
  // A connection that was admitted. gRPC owns its own descriptor.
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
  // All connections of a client together. Forgotten when it has none and owes
  // nothing.
  struct Client {
    StreamLimits limits = kClientStreams;
    size_t connections = 0;
    uint64_t open_streams = 0;
    double failed_streams = 0;  // less those that time has forgiven
    absl::Time forgiven;
    absl::Time banned_until = absl::InfinitePast();
  };
  using Connections = std::map<uint64_t, Connection>;

  // The thread's loop: waits for bytes, looks, pauses for kInterval.
  void Run();
  Connections::iterator Find(const std::string& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const std::string& LoggedAs(const std::string& client) const {
    return options_.log_as.empty() ? client : options_.log_as;
  }
  // Reads the counts of its streams and adds what is new to its client.
  void Look(Connection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Finds the sockets of connections that gRPC has accepted meanwhile.
  void Discover(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes off what time has forgiven since the last call.
  Client& Forgive(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Closes all connections of a client that is over a limit, and bans it.
  void BanIfOver(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Closes another client's idle connection if need be. False: there is none to
  // close.
  bool MakeRoom(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As if all had been active; at most once in kInterval.
  void LookAtAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Resets the connection, so that a client that goes on sending is told.
  void Close(Connections::iterator connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets the connection, which has ended or is about to.
  void Drop(Connections::iterator connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Asks for one event, for bytes that come from now on.
  void Watch(uint64_t id, int fd, int operation);
  void ForgetClients() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives freed memory back to the system if it is due and worth it.
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
