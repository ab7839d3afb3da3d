// SPDX-License-Identifier: Apache-2.0
//
// All sessions of the daemon. Services open sessions here, find them by token
// or by id, and close them. Sessions are numbered from 1 in the order of
// opening; ids are "s-1" and so on.
//
// A session that is being opened or closed has an executor, but is not in the
// registry. It is counted as "in transit" (session_admission.h), so that a
// count of all sessions includes it.
//
// Threads: any thread. A reaper thread closes sessions whose client has gone:
//
//   while (registry.AwaitExpiry()) registry.CloseExpired();
//
// Locks: mutex_ guards the map of sessions and the admission. It is not held
// while a thread waits for an executor, or calls a method of a session that may
// block. Sessions report new deadlines without holding a lock of their own.
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
#include "server/kept/descriptor_store.h"
#include "server/supervisor/executor.h"
#include "server/supervisor/session.h"
#include "server/supervisor/session_admission.h"
#include "server/supervisor/session_place.h"
#include "server/supervisor/session_request.h"
#include "server/tenants/caller.h"
#include "server/tenants/tenant.h"

namespace holdfast::supervisor {

// Thread-safe.
class SessionRegistry {
 public:
  // The time in which a warm executor must answer. Otherwise another executor
  // is tried.
  static constexpr absl::Duration kServeLimit = absl::Seconds(5);

  struct Options {
    FaultLimits fault_limits;
    // The most sessions. A lost session counts until a new session needs its
    // place.
    size_t max_sessions = 64;
    // The most sessions of one client. 0: a client may open a session if its
    // new number of sessions is at most the number that was free before, so
    // that a single client gets half of max_sessions.
    size_t max_sessions_per_client = 0;
    SessionQuotas quotas;
    // The kernel time limit of every session; 0: no limit. Clients may ask for
    // less.
    absl::Duration kernel_time_limit = absl::ZeroDuration();
    // The longest detached_lifetime that a client may ask for.
    absl::Duration detached_limit = absl::ZeroDuration();
    std::string socket_directory;  // of the executors' sockets
    mode_t socket_mode = 0600;
    // Counts sessions that were recovered after a fault. Outlives the registry;
    // may be null.
    ExecutionTotals* totals = nullptr;
    // Keeps sessions for the next daemon. Outlives the registry.
    DescriptorStore* kept = nullptr;
    // Returns the tenant's devices for the request, at least one; see
    // device_choice.h.
    std::function<absl::StatusOr<std::vector<uint32_t>>(
        const v1::OpenSessionRequest&, const Tenant&, absl::Time)>
        choose_devices;
    // Returns a ready executor for a session of this tenant on these devices.
    std::function<absl::StatusOr<std::unique_ptr<Executor>>(
        const Tenant&, const std::vector<uint32_t>&, absl::Time)>
        take;
    // See SessionRecovery::Options.
    std::function<absl::StatusOr<std::vector<uint32_t>>(
        const Tenant&, const PlaceRequest&, absl::Time)>
        find_places;
    // The clock that clients see, and the clock of leases. Tests change them.
    std::function<absl::Time()> now = absl::Now;
    std::function<absl::Time()> lease_time = SteadyNow;
  };

  // A session with its token, which only its client gets.
  struct Opened {
    std::shared_ptr<Session> session;
    std::string token;
    // Ordinals, in the client's numbering.
    std::vector<uint32_t> devices;
  };

  // Starts no thread.
  explicit SessionRegistry(Options options);
  // Closes all sessions.
  ~SessionRegistry();

  // Opens a session; see SessionService.OpenSession. A tenant's sessions are
  // counted together. Tries up to three executors. INVALID_ARGUMENT: the
  // request is not valid (CheckRequest). RESOURCE_EXHAUSTED: a limit of the
  // daemon or the tenant is reached; the message names it. UNAVAILABLE: the
  // daemon drains, is paused or is being replaced, or no executor could be
  // started.
  absl::StatusOr<Opened> Open(const v1::OpenSessionRequest& request,
                              const Caller& caller, absl::Time deadline);

  // A session of an earlier daemon.
  struct Adopted {
    internal::SessionRecord record;
    UniqueFd calls;
    UniqueFd descriptors;
    std::shared_ptr<Tenant> tenant;
    Session::Left left;
    internal::ExecutionRecord counters;  // sums of its executors so far
  };
  // Takes over a session; see Session. REQUIRES: Open was not called yet, and
  // SkipNumbers skipped the session's number.
  void Adopt(Adopted adopted);
  // Makes new sessions get numbers greater than `through`.
  void SkipNumbers(uint64_t through);

  // Parks all sessions, so that another daemon can replace this daemon. Blocks
  // until their work has ended, at most until about `deadline`.
  // FAILED_PRECONDITION: a session cannot be parked; the message has the
  // reason, and all sessions continue. Calls of Open wait until UnparkAll, or
  // fail at TellRestart.
  absl::Status ParkAll(absl::Time deadline);
  void UnparkAll();
  // The executors that the next daemon needs at its start.
  struct Next {
    std::vector<uint32_t> devices;  // one for each executor
    size_t shared = 0;  // in addition: executors that share MPS servers
  };
  Next NextExecutors() const;
  // Blocks until no session is recovering, at most until `deadline`.
  void AwaitRecovered(absl::Time deadline) const;
  // Records the work counters of the open sessions' executors, for the next
  // daemon.
  void Record(internal::CountersRecord* counters) const;
  // Notifies connected clients that the next daemon takes over, and makes calls
  // of Open fail, so that their clients try again there. restarting() returns
  // true from then on.
  void TellRestart();
  bool restarting() const {
    absl::MutexLock lock(&mutex_);
    return admission_.restarting();
  }

  // Returns the session with this token of 16 bytes. Compares in constant time
  // for each session. NOT_FOUND: there is no such session.
  absl::StatusOr<std::shared_ptr<Session>> Find(absl::string_view token) const;
  // Returns the session with this id ("s-7"). NOT_FOUND: there is no such
  // session.
  absl::StatusOr<std::shared_ptr<Session>> FindById(absl::string_view id) const;

  // Removes and closes a session; see Session::Close. Blocks until the executor
  // has ended. Has no effect if another thread has removed the session.
  void Close(const Session& session, const std::string& reason,
             absl::Duration stop_time = Session::kStopTime);
  // Closes all sessions, one by one.
  void CloseAll(const std::string& reason,
                absl::Duration stop_time = Session::kStopTime);

  // Closes every session of a tenant that is ending, each in a thread of its
  // own. Blocks until the tenant has no session and opens none. REQUIRES:
  // Tenant::BeginEnd was called.
  void CloseAllOf(const Tenant& tenant, const std::string& reason);

  // Returns the sessions, oldest first, without sessions that are being opened
  // or closed.
  std::vector<std::shared_ptr<Session>> List() const;

  // Returns true if sessions survive when the daemon is killed.
  bool outlives_kill() const {
    return options_.kept != nullptr && options_.kept->outlives_kill();
  }
  size_t max_sessions() const { return options_.max_sessions; }
  const SessionQuotas& quotas() const { return options_.quotas; }

  // Makes Open fail from now on. Calls `on_empty` once, when no session is
  // left: in the thread that has closed the last session, or at once if there
  // is no session.
  void Drain(std::function<void()> on_empty);

  // Makes Open fail while `paused`, for operators. Does not change a Drain that
  // has begun. The next daemon keeps the pause.
  void SetPaused(bool paused);
  bool paused() const {
    absl::MutexLock lock(&mutex_);
    return admission_.paused();
  }
  // Returns true while paused, and for ever after Drain: Open then fails with
  // UNAVAILABLE for every client.
  bool closed() const {
    absl::MutexLock lock(&mutex_);
    return admission_.closed();
  }
  // Blocks until no session is left, SetPaused(false) is called, the deadline
  // has passed or `cancelled` is requested. Returns the number of sessions
  // left, including sessions that are being opened or closed.
  size_t AwaitPausedEmpty(absl::Time deadline,
                          const std::stop_token& cancelled = {}) const;

  // Closes the expired sessions, and releases the remains of lost sessions
  // (Session::ReleaseRemains). Blocks until that is done.
  void CloseExpired();
  // Blocks until a session has expired or has remains. Returns false after
  // Stop.
  bool AwaitExpiry();
  // Makes AwaitExpiry return false.
  void Stop();

 private:
  using Sessions = std::map<uint64_t, std::shared_ptr<Session>>;

  // Counts a new session of the caller as in transit, if no limit forbids it.
  // Blocks while all sessions are parked. UNAVAILABLE, RESOURCE_EXHAUSTED: as
  // for Open.
  absl::Status Enter(const Caller& caller, absl::Time deadline);
  // Calls Start until an executor answers.
  absl::StatusOr<Opened> StartWithAnyExecutor(
      const v1::OpenSessionRequest& request, const Caller& caller,
      absl::Time deadline);
  // Tries one executor. DEADLINE_EXCEEDED: it did not answer within
  // kServeLimit.
  absl::StatusOr<Opened> Start(const v1::OpenSessionRequest& request,
                               const Caller& caller, absl::Time deadline);
  // Closes lost sessions until there is room for another session: first the
  // sessions of the client that has most, oldest first.
  void CloseLostForRoom();
  // The listening sockets of a session's executors.
  struct Sockets {
    UniqueFd calls;
    UniqueFd descriptors;
  };
  // Makes the sockets, and starts the executor's service on them. Removes their
  // files on an error.
  absl::StatusOr<Sockets> ServeOnSockets(Executor& executor, SessionStart start,
                                         const std::string& path,
                                         const std::string& descriptor_path,
                                         absl::Time deadline);
  // Returns the options of a session, without its executor.
  Session::Options OptionsOf(const internal::SessionRecord& record,
                             SessionStart start, Sockets sockets);
  // Begins to park, and waits until no session is in transit.
  // FAILED_PRECONDITION: sessions are still in transit at the deadline.
  absl::Status AwaitParkable(absl::Time deadline);
  // Ends the parking, so that calls of Enter continue.
  void EndParking();
  // Removes the session and returns it; null if it is not in the registry. The
  // session counts as in transit until SessionAdmission::Leave.
  std::shared_ptr<Session> TakeOut(const Session& session);
  // Returns the number of all sessions, including sessions in transit.
  size_t Count() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return sessions_.size() + admission_.in_transit();
  }
  uint64_t DeadlineChanges() const;
  // Calls `on_empty` if there is no session.
  void NotifyIfEmpty();

  const Options options_;
  mutable absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;  // Stop was called
  SessionAdmission admission_ ABSL_GUARDED_BY(mutex_);
  DescriptorStore::Kept kept_pause_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_empty_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t deadline_changes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The key is the session's number, so the oldest session is first.
  Sessions sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_REGISTRY_H_
