// SPDX-License-Identifier: Apache-2.0
//
// The life of one session: its executors, one after the other, and the events
// between them, which are faults, recovery, suspension, and the replacement of
// the daemon.
//
// The session is always in one State, which only Next() changes
// (server/session/state.h). Each public method reports an event, or waits for
// a state.
//
// Threads. Services' threads call the public methods. The thread that reads an
// executor's channel reports its end (NoteEnd). One thread of this class
// recovers the session: it gives the holdings to SessionRecovery, which makes
// the resources again in another executor. This object owns the executor from
// the start of the attempt (Adopt), so that Close can stop it. The executor
// takes commands after the client's acknowledgement. If the executor ends
// before the acknowledgement, the same thread recovers the session again.
//
// Locks. mutex_ guards the state and the members that belong to it. A thread
// that holds mutex_ waits for no executor, runs no callback, and joins only a
// recovery thread that has finished its work.
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_LIFE_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_LIFE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/log_scope.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/session/state.h"
#include "server/supervisor/executor.h"
#include "server/supervisor/fault_history.h"
#include "server/supervisor/session_recovery.h"

namespace holdfast::supervisor {

// Thread-safe.
class SessionLife {
 public:
  // The time between asking an executor to stop and killing it.
  static constexpr absl::Duration kStopTime = absl::Seconds(5);

  struct Options {
    std::string id;
    std::string client;  // the tenant
    LogFields log_fields;
    // NEVER: a fault loses the session. ASK: the session recovers when its
    // client acknowledges the fault. Otherwise the session recovers at once.
    v1::RecoveryPolicy recover = v1::RECOVERY_POLICY_NEVER;
    FaultLimits fault_limits;
    // Gets another executor. Null if the session cannot be recovered.
    std::unique_ptr<SessionRecovery> recovery;
    std::function<absl::Time()> now;         // clock that clients see
    std::function<absl::Time()> lease_time;  // clock of leases

    // The callbacks below are called without a lock; the callbacks for one
    // event are called one after the other.
    //
    // Called when the session has faulted, has another executor, or is lost:
    // see halt() and AwaitLoss().
    std::function<void()> on_change;
    // Called with the devices of the next executor, before this executor
    // allocates memory.
    std::function<void(const std::vector<uint32_t>&)> on_devices;
    // Called when another executor has all resources. The callback sets the
    // limits of the executor.
    std::function<void()> on_restored;
  };
  // The state that an earlier daemon has left; see Session::Left.
  struct Left {
    std::unique_ptr<SessionHoldings> holdings;
    uint64_t epoch = 1;
    bool idle = false;
  };

  // The caller must call Start next. REQUIRES: all functions are set.
  SessionLife(Options options, std::shared_ptr<Executor> executor);
  SessionLife(Options options, Left left);
  // REQUIRES: End has returned.
  ~SessionLife() = default;

  // Watches the executor, or begins the recovery of a session that an earlier
  // daemon has left. Callbacks may run from now on.
  void Start();

  session::State state() const;
  std::shared_ptr<Executor> executor() const;
  // Returns the epoch. It begins with 1, and grows with each executor that has
  // restored the session.
  uint64_t epoch() const;
  // The state of a session that refuses commands until its client acknowledges
  // `report`.
  struct Halt {
    v1::FaultReport report;
    // Greater than the report's epoch if another executor is ready.
    uint64_t epoch = 0;
  };
  std::optional<Halt> halt() const;
  // Sets state, epoch, faults and executor of the session in `info`.
  // `detached`: the session has no client.
  void Describe(bool detached, v1::SessionInfo* info) const;

  // Blocks until the session is lost, closed or halted, and returns its error.
  // Returns OK if the session serves at the deadline. See Session::AwaitLoss.
  absl::Status AwaitLoss(absl::Time deadline) const;

  // See the methods of Session.
  absl::StatusOr<v1::AcknowledgeFaultResponse> AcknowledgeFault(
      uint64_t epoch, absl::Time deadline);
  absl::StatusOr<uint64_t> Suspend(const std::string& path,
                                   absl::Time deadline);
  absl::Status ResumeSuspended(std::optional<uint32_t> device,
                               absl::Time deadline);
  absl::Status Park(absl::Time deadline);
  void Unpark(absl::Time deadline);
  void Leave();
  bool NeedsExecutorNext() const;
  bool shares_server() const;
  void AwaitRecovered(absl::Time deadline) const;

  // Closes the session: it refuses everything from now on, with the reason
  // `because`. Returns false if Close was called before.
  bool Close(const std::string& because);
  // Stops the executor, kills it at the deadline, and waits for the recovery
  // thread. REQUIRES: Close was called.
  void End(absl::Time deadline);

  // Returns true if the session is lost and ReleaseRemains was not called yet.
  bool HasRemains() const;
  // Releases the process and the sockets of a lost session. Has no effect if
  // the session is not lost. Waits for the recovery thread.
  void ReleaseRemains();

 private:
  // Applies an event. Returns the actions for Carry; no actions if the event
  // changes nothing.
  std::vector<session::Action> Apply(session::Event event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Carries out the actions in order. Returns the error of StartRecovery.
  absl::Status Carry(const std::vector<session::Action>& actions)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Handles the unexpected end of the executor in use.
  void NoteEnd(const absl::Status& reason);
  // Makes last_fault_. Returns the reason why the session is lost; OK if the
  // session can recover.
  absl::Status NoteFault(const absl::Status& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Changes last_fault_ to the report of a stop without a fault: the executor
  // has carried out every received command.
  void NoteIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Starts the recovery thread. RESOURCE_EXHAUSTED: the system allows no
  // thread. The session then stays stopped until its client or an operator
  // resumes it.
  absl::Status StartRecovery() ABSL_LOCKS_EXCLUDED(mutex_);
  // Does one recovery. Returns false if there is nothing more to recover.
  bool RecoverOnce();
  bool Adopt(std::shared_ptr<Executor> executor);
  // Makes the session lost, because the recovery has failed.
  void GiveUp(const absl::Status& failure);

  // Begins to resume a halted session for its client. Blocks until an executor
  // is ready. Returns the executor that the caller must open for commands; null
  // if the session serves already.
  absl::StatusOr<std::shared_ptr<Executor>> BeginResuming(uint64_t epoch,
                                                          absl::Time deadline);
  absl::Status CheckAcknowledged(uint64_t epoch) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Notes that this executor has saved the session's memory. Returns the number
  // of bytes.
  absl::StatusOr<uint64_t> NoteSuspended(
      const std::shared_ptr<Executor>& saved);
  // Puts the suspended session on this device.
  absl::Status Place(uint32_t device, absl::Time deadline);
  absl::Status RefusedCall() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable absl::Mutex mutex_;
  session::State state_ ABSL_GUARDED_BY(mutex_);
  // The executor that serves, is being restored, or has ended last.
  std::shared_ptr<Executor> executor_ ABSL_GUARDED_BY(mutex_);
  // The resources of a session without an executor, for the next executor.
  std::unique_ptr<SessionHoldings> holdings_ ABSL_GUARDED_BY(mutex_);
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 1;
  FaultHistory faults_ ABSL_GUARDED_BY(mutex_);
  // The report of the last fault, suspension or upgrade.
  v1::FaultReport last_fault_ ABSL_GUARDED_BY(mutex_);
  absl::Status over_ ABSL_GUARDED_BY(mutex_);  // the error in kLost, kClosed
  // True while recovery_thread_ calls RecoverOnce, until it returns false.
  bool recovering_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread recovery_thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_LIFE_H_
