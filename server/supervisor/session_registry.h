// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_REGISTRY_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/steady_time.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/restart.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "proto/protocol_limits.h"
#include "server/restart/descriptor_store.h"
#include "server/supervisor/executor.h"
#include "server/supervisor/session.h"
#include "server/supervisor/session_place.h"
#include "server/tenants/caller.h"
#include "server/tenants/tenant.h"

namespace holdfast::supervisor {

// The daemon's own limits for what one session may hold; see AccountLimits. 0:
// no limit.
struct SessionQuotas {
  uint64_t device_bytes = 0;
  uint64_t pinned_bytes = 0;
  uint64_t arena_bytes = 0;
  uint32_t handles = kMaxHandles;  // of each kind
  // The client may have so many commands on their way.
  uint64_t outstanding_commands = 0;
};

// All sessions of the daemon. Thread-safe.
//
// Services open sessions here, find them by token or by id, and close them. A
// reaper thread closes those whose client has gone:
//
//   while (registry.AwaitExpiry()) registry.CloseExpired();
//
// Sessions are numbered from 1 in the order of their opening; ids are "s-1" and
// so on. No lock is held while an executor is asked or waited for.
class SessionRegistry {
 public:
  // Requests with another version are refused with INVALID_ARGUMENT.
  static constexpr uint32_t kProtocolVersion = 1;
  // The longest reconnect_grace.
  static constexpr absl::Duration kMaxGrace = absl::Hours(1);
  // The limit of OpenSessionRequest.name.
  static constexpr size_t kMaxNameBytes = 128;
  // Bytes of ClientInfo.program and .host each.
  static constexpr size_t kMaxClientInfoBytes = 256;
  // Devices that one request may name.
  static constexpr int kMaxDevices = 256;
  // An executor that waited and does not answer for so long is replaced.
  static constexpr absl::Duration kServeLimit = absl::Seconds(5);

  struct Options {
    FaultLimits fault_limits;
    // A lost session counts until another one needs its place.
    size_t max_sessions = 64;
    // 0: a client may open another session as long as it has fewer open than
    // are free, so half of them if it is the only one.
    size_t max_sessions_per_client = 0;
    SessionQuotas quotas;
    // The kernel time limit of every session, which may ask for less. 0: none.
    absl::Duration kernel_time_limit = absl::ZeroDuration();
    // The longest detached_lifetime that a client may ask for.
    absl::Duration detached_limit = absl::ZeroDuration();
    std::string socket_directory;  // of the executors' sockets
    mode_t socket_mode = 0600;
    // Counts the sessions that were brought back after a fault; outlives the
    // registry. May be null.
    ExecutionTotals* totals = nullptr;
    // Where sessions are kept for the next daemon; outlives the registry.
    DescriptorStore* kept = nullptr;
    // The devices of the tenant that the request names; see device_choice.h. At
    // least one.
    std::function<absl::StatusOr<std::vector<uint32_t>>(
        const v1::OpenSessionRequest&, const Tenant&, absl::Time)>
        choose_devices;
    // A ready executor for a session of this tenant on these devices.
    std::function<absl::StatusOr<std::unique_ptr<Executor>>(
        const Tenant&, const std::vector<uint32_t>&, absl::Time)>
        take;
    // As SessionRecovery::Options.
    std::function<absl::StatusOr<std::vector<uint32_t>>(
        const Tenant&, const PlaceRequest&, absl::Time)>
        find_places;
    // For tests: what clients are shown, and what leases are measured by.
    std::function<absl::Time()> now = absl::Now;
    std::function<absl::Time()> lease_time = SteadyNow;
  };

  // A session, with the secret that only its client is told.
  struct Opened {
    std::shared_ptr<Session> session;
    std::string token;
    // Ordinals, in the client's numbering.
    std::vector<uint32_t> devices;
  };

  // Starts no thread.
  explicit SessionRegistry(Options options);
  // Closes what is open.
  ~SessionRegistry();

  // As SessionService.OpenSession says. The sessions of a tenant are counted
  // together. INVALID_ARGUMENT: the request is over one of the bounds above.
  // RESOURCE_EXHAUSTED: a limit of the daemon or the tenant, which the message
  // names. UNAVAILABLE: the daemon drains or makes way, or no executor could be
  // started. Up to three executors are tried.
  absl::StatusOr<Opened> Open(const v1::OpenSessionRequest& request,
                              const Caller& caller, absl::Time deadline);

  // A session of an earlier daemon's.
  struct Adopted {
    internal::SessionRecord record;
    UniqueFd calls;
    UniqueFd descriptors;
    std::shared_ptr<Tenant> tenant;
    Session::Left left;
    internal::ExecutionRecord counters;  // of its executors so far
  };
  // Takes it over; see Session. Before the first Open. REQUIRES: its number is
  // skipped by SkipNumbers.
  void Adopt(Adopted adopted);
  // Sessions that are opened get greater numbers.
  void SkipNumbers(uint64_t through);

  // Has every session's work end until `deadline`, for a daemon that makes way
  // for another. Fails with the reason of each session that cannot be parked;
  // all go on then. Open waits until UnparkAll, or fails at TellRestart.
  absl::Status ParkAll(absl::Time deadline);
  void UnparkAll();
  // The counts of the work of each session's executors, for the next daemon.
  // Has entries for sessions that are open now.
  void Record(internal::CountersRecord* counters) const;
  // Tells the clients that are connected, which then wait for the next daemon,
  // and those whose Open waits, which try again there. Afterwards restarting()
  // is true for good.
  void TellRestart();
  bool restarting() const {
    absl::MutexLock lock(&mutex_);
    return restarting_;
  }

  // NOT_FOUND: the token, of 16 bytes, names no session. Compares in constant
  // time for each session.
  absl::StatusOr<std::shared_ptr<Session>> Find(absl::string_view token) const;
  // NOT_FOUND: no session has this name ("s-7").
  absl::StatusOr<std::shared_ptr<Session>> FindById(absl::string_view id) const;

  // Takes the session out and closes it; see Session::Close. Blocks until the
  // executor has ended. Does nothing if another thread has taken it out.
  void Close(const Session& session, const std::string& reason,
             absl::Duration stop_time = Session::kStopTime);
  // Closes one after the other.
  void CloseAll(const std::string& reason,
                absl::Duration stop_time = Session::kStopTime);

  // Closes every session of a tenant that is ending; returns when none is left,
  // nor one that was being opened. REQUIRES: Tenant::BeginEnd was called.
  // Closes them at once, each in a thread of its own.
  void CloseAllOf(const Tenant& tenant, const std::string& reason);

  // Oldest first. Sessions that are being opened or closed are not in it.
  std::vector<std::shared_ptr<Session>> List() const;

  // Whether sessions survive when the daemon is killed.
  bool outlives_kill() const {
    return options_.kept != nullptr && options_.kept->outlives_kill();
  }
  size_t max_sessions() const { return options_.max_sessions; }
  const SessionQuotas& quotas() const { return options_.quotas; }

  // From now on Open is refused; `on_empty` is called once, when no session
  // is left, from whatever thread closed the last one. Called at once, by the
  // caller, if there is none now.
  void Drain(std::function<void()> on_empty);

  // The same for an operator who may take it back: while `paused`, Open is
  // refused. Does not change a Drain that has begun. The next daemon is told.
  void SetPaused(bool paused);
  bool paused() const {
    absl::MutexLock lock(&mutex_);
    return paused_;
  }
  // Blocks until no session is left, SetPaused(false), the deadline or
  // `cancelled`. Returns how many are left. Sessions that are being opened or
  // closed count.
  size_t AwaitPausedEmpty(absl::Time deadline,
                          const std::stop_token& cancelled = {}) const;

  // Closes the sessions whose time is up. By options.now. Blocks while they are
  // being closed.
  void CloseExpired();
  // Returns when CloseExpired has something to do; false after Stop.
  bool AwaitExpiry();
  // From then on AwaitExpiry returns false.
  void Stop();

 private:
  using Sessions = std::map<uint64_t, std::shared_ptr<Session>>;

  // Counts a session for the caller, who is over no limit. Blocks while all
  // are parked. UNAVAILABLE or RESOURCE_EXHAUSTED, as Open says.
  absl::Status Enter(const Caller& caller, absl::Time deadline);
  // Undoes Enter.
  void Leave(const std::string& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Start until an executor answers.
  absl::StatusOr<Opened> StartWithAnyExecutor(
      const v1::OpenSessionRequest& request, const Caller& caller,
      absl::Time deadline);
  // One try. DEADLINE_EXCEEDED after kServeLimit: the executor is of no use.
  absl::StatusOr<Opened> Start(const v1::OpenSessionRequest& request,
                               const Caller& caller, absl::Time deadline);
  // Closes lost sessions until all sessions together leave room for one more:
  // first those of the client that has most of them, oldest first.
  void CloseLostForRoom();
  // The sockets that executors of a session listen on.
  struct Sockets {
    UniqueFd calls;
    UniqueFd descriptors;
  };
  // Makes the sockets and has the executor serve. Removes their files on an
  // error.
  absl::StatusOr<Sockets> ServeOnSockets(Executor& executor, SessionStart start,
                                         const std::string& path,
                                         const std::string& descriptor_path,
                                         absl::Time deadline);
  // All but the executor.
  Session::Options OptionsOf(const internal::SessionRecord& record,
                             SessionStart start, Sockets sockets);
  // Wakes calls of Enter when it ends.
  void SetParking(bool parking);
  // Null: it is not there, or taken out already. It counts as in transit until
  // Leave.
  std::shared_ptr<Session> TakeOut(const Session& session);
  uint64_t DeadlineChanges() const;
  // Calls `on_empty` if there is no session.
  void NotifyIfEmpty();

  const Options options_;
  mutable absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;
  DescriptorStore::Kept kept_pause_ ABSL_GUARDED_BY(mutex_);
  bool parking_ ABSL_GUARDED_BY(mutex_) = false;     // or parked
  bool restarting_ ABSL_GUARDED_BY(mutex_) = false;  // TellRestart was called
  std::function<void()> on_empty_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  // Sessions that hold an executor but are not in sessions_ yet, or any more:
  // how many, and whose.
  size_t in_transit_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, size_t> in_transit_of_ ABSL_GUARDED_BY(mutex_);
  uint64_t deadline_changes_ ABSL_GUARDED_BY(mutex_) = 0;
  // By number, so oldest first.
  Sessions sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_REGISTRY_H_
