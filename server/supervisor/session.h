// SPDX-License-Identifier: Apache-2.0
//
// One client's session: its secret, its executor, and its lifetime.
//
//   ACTIVE    at least one KeepAlive stream is open, or none was yet and the
//             session is younger than kFirstKeepAlive
//   DETACHED  none is open any more; ends after the client's reconnect_grace,
//             or detached_lifetime; another client can take it up then (TakeUp)
//   RECOVERING, FAULTED
//             the executor has died, and another one is made ready, or waits
//             for the client to acknowledge the fault; then ACTIVE or DETACHED
//             again, in the next epoch
//   SUSPENDED an operator has taken it off its devices; its next call, or the
//             operator, has another executor made ready, as after a fault
//   LOST      the executor has died and there will be no other; kept for the
//             sake of its error message
//   CLOSING   being taken down
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_H_

#include <grpcpp/channel.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/log_scope.h"
#include "holdfast/internal/restart.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/kept/descriptor_store.h"
#include "server/relay/transfer_pipes.h"
#include "server/supervisor/executor.h"
#include "server/supervisor/fault_history.h"
#include "server/supervisor/session_recovery.h"

namespace holdfast::supervisor {

// Thread-safe.
//
// Made by SessionRegistry, which closes it after deadline(). Services look it
// up by its token and call it from their own threads. Calls block only where
// that is documented; Close waits for the executor's end.
class Session {
 public:
  // The time that a client has for opening a KeepAlive stream after it opens,
  // attaches to or takes up a session.
  static constexpr absl::Duration kFirstKeepAlive = absl::Seconds(30);
  // The time that a lost session without a stream is kept for its error.
  static constexpr absl::Duration kLostKept = absl::Minutes(1);
  // The time between asking an executor to stop and killing it.
  static constexpr absl::Duration kStopTime = absl::Seconds(5);
  // The most Execute calls of a remote client at once: one, and earlier ones
  // whose broken connections were not noticed yet.
  static constexpr int kMaxExecuteCalls = 8;

  struct Options {
    std::string id;
    std::string token;  // 16 bytes
    std::string name;
    v1::ClientInfo client_info;
    std::string peer;
    std::string client;  // the tenant that pays for it
    // The work counters of its executors.
    std::shared_ptr<const ExecutionTotals> execution =
        std::make_shared<ExecutionTotals>();
    // The time from the end of the last KeepAlive stream to the end of the
    // session.
    absl::Duration grace;
    // It can live without a client, and other clients of its tenant can take it
    // up.
    bool detachable = false;
    std::vector<uint32_t> devices;  // as its client names them
    std::string socket_path;        // of the executor
    std::string descriptor_socket_path;
    // The limits from opening; a quota restricts them further.
    internal::AccountLimits limits;
    // The quota of SetQuota, under an earlier daemon.
    std::optional<v1::Quota> quota;
    // Keeps its record and sockets for the next daemon, until it closes.
    std::vector<DescriptorStore::Kept> kept;
    // Its record, and the function that keeps a changed one; null: not kept.
    internal::SessionRecord record;
    std::function<DescriptorStore::Kept(const internal::SessionRecord&)>
        keep_record;
    // Keeps the fact that it has no client; null: not kept.
    std::function<DescriptorStore::Kept()> keep_detached;
    // NEVER: a fault loses the session. ASK: it recovers when its client
    // acknowledges the fault. Otherwise it recovers at once.
    v1::RecoveryPolicy recover = v1::RECOVERY_POLICY_NEVER;
    FaultLimits fault_limits;
    // Gets another executor; null: impossible.
    std::unique_ptr<SessionRecovery> recovery;
    std::function<absl::Time()> now;           // clock that clients see
    std::function<absl::Time()> lease_time;    // clock of leases
    std::function<void()> on_deadline_change;  // not called under a lock
  };

  // REQUIRES: `executor` serves these options; now, lease_time and
  // on_deadline_change are set.
  Session(Options options, std::shared_ptr<Executor> executor);
  // The state of a session that an earlier daemon has left. It recovers by
  // itself: as after a fault, or as after a suspension if no work of it ran. A
  // session that an operator had suspended stays suspended. Its client has time
  // to return.
  struct Left {
    std::unique_ptr<SessionHoldings> holdings;
    uint64_t epoch = 1;
    bool idle = false;
    // It had no client. Otherwise its client has kFirstKeepAlive to return, and
    // no other client can take it up meanwhile.
    bool detached = false;
    absl::Time opened;
  };
  Session(Options options, Left left);
  // Closes it.
  ~Session();

  // "s-" and a number, unique in the daemon's directory.
  const std::string& id() const { return options_.id; }
  const std::string& client() const { return options_.client; }
  // Its devices' ordinals in the client's numbering; never change.
  const std::vector<uint32_t>& devices() const { return options_.devices; }
  // The devices that it runs on, in the same order.
  std::vector<uint32_t> current_devices() const {
    absl::MutexLock lock(&mutex_);
    return current_devices_;
  }
  // The pid of its present executor; 0: none.
  pid_t executor_pid() const { return executor()->pid(); }
  // For clients on this machine, which connect to the executor directly.
  std::string local_address() const { return "unix:" + options_.socket_path; }
  std::string descriptor_address() const {
    return "unix:" + options_.descriptor_socket_path;
  }
  // Asks the executor. Waits for 200 ms at most, then returns older values.
  v1::SessionInfo Info() const;

  // Gives a client that has returned time to open its KeepAlive stream. Does
  // nothing while a stream is open.
  void NoteAttach();
  // Returns the number of the last received command. Fails as
  // Executor::ReceivedThrough.
  absl::StatusOr<uint64_t> ReceivedThrough() const {
    return executor()->ReceivedThrough();
  }
  // The result of TakeUp, for a client that does not know the token.
  struct TakenUp {
    std::string token;
    uint64_t received_through = 0;         // as AttachSessionResponse
    std::optional<v1::FaultReport> fault;  // not acknowledged
    uint64_t epoch = 0;
  };
  // Gives a detached session to another client, which then has kFirstKeepAlive
  // to open a stream; meanwhile no other client gets it. If a client has just
  // left, waits for its end for a second at most. FAILED_PRECONDITION: the
  // session has a client (perhaps one that a restart of the daemon has cut
  // off), is not detachable, or is lost.
  absl::StatusOr<TakenUp> TakeUp();

  // Compares in constant time.
  bool HasToken(absl::string_view token) const;

  // The channel to the executor's socket, which connects on first use. Stays
  // valid over recoveries, because the sockets' paths do not change.
  std::shared_ptr<grpc::Channel> executor_channel() const { return channel_; }

  // Sends a descriptor to the executor, as a client would. Returns the token
  // that names it in a call. Blocks for up to 10 s. Fails as SendFd.
  absl::StatusOr<std::string> SendFd(int fd) const;
  // Admits one Execute call, until the result is destroyed. REQUIRES: the
  // session outlives the result. RESOURCE_EXHAUSTED: there are
  // kMaxExecuteCalls.
  absl::StatusOr<std::shared_ptr<void>> TakeExecuteCall();

  // Pipes to the executor for transfers of remote clients. Pipes to an executor
  // that has ended are replaced.
  TransferPipes& transfer_pipes() { return *transfer_pipes_; }

  // Returns OK, or why the session does not serve commands: UNAVAILABLE with
  // ErrorDetail.session_lost, or ABORTED with its fault_epoch. Never blocks.
  absl::Status Serving() const;
  // True if it will never serve commands again.
  bool lost() const;

  // See SessionService.AcknowledgeFault; blocks until the recovery is done.
  // FAILED_PRECONDITION: there is no fault. ABORTED: the session is lost, or
  // the fault is not that of `epoch`. DEADLINE_EXCEEDED: the recovery is still
  // going on.
  absl::StatusOr<v1::AcknowledgeFaultResponse> AcknowledgeFault(
      uint64_t epoch, absl::Time deadline);
  // Like Serving, for a caller whose call to the executor broke: blocks until
  // the cause, a loss or a fault, is known. Returns OK if nothing has happened
  // until the deadline.
  absl::Status AwaitLoss(absl::Time deadline) const;

  // Called at most once, and not after RemoveKeeper has returned: with the
  // reason if the session ends by itself, with "" if the client closes it.
  using Keeper = std::function<void(const std::string& reason)>;
  // Called with each fault, and again with the new epoch when the session has
  // another executor.
  using FaultKeeper =
      std::function<void(const v1::FaultReport& report, uint64_t epoch)>;
  // Called when another daemon is about to take over the session.
  using RestartKeeper = std::function<void()>;
  // Adds a KeepAlive stream. Calls back at once with the present state:
  // `on_end` if the session is over, `on_fault` if a fault is not acknowledged.
  // Callbacks run under a lock: they must not call AddKeeper, RemoveKeeper or
  // Close.
  int64_t AddKeeper(Keeper on_end, FaultKeeper on_fault = nullptr,
                    RestartKeeper on_restart = nullptr);
  // Removes a stream. The last one detaches the session and starts its grace.
  void RemoveKeeper(int64_t keeper);

  // Moves the session's device memory to the file `path`, or to host memory if
  // that is empty; its work has until `deadline` to end. Returns the bytes.
  // Blocks. If it fails, the session continues. FAILED_PRECONDITION names its
  // state, or the resource that cannot be suspended.
  absl::StatusOr<uint64_t> Suspend(const std::string& path,
                                   absl::Time deadline);
  // Resumes the session without its client, on `device` if one is given.
  // Blocks. Fails as AdminService.ResumeSession.
  absl::Status ResumeSuspended(std::optional<uint32_t> device,
                               absl::Time deadline);

  // Restricts its resources, in addition to the limits of its opening. Replaces
  // an earlier quota; keeps all present resources. Waits for 200 ms at most
  // until the executor knows it. INVALID_ARGUMENT: as CheckSessionQuota.
  absl::Status SetQuota(const v1::Quota& quota);

  // The work counters of its executors.
  const ExecutionTotals& execution() const { return *options_.execution; }

  // Finishes its work until `deadline`, before another daemon takes over;
  // clients see a suspension. FAILED_PRECONDITION names the resource that would
  // not survive. The session continues if this fails, or at Unpark.
  absl::Status Park(absl::Time deadline);
  void Unpark(absl::Time deadline);
  // Leaves the session to the next daemon as it is now; cannot be undone.
  void TellRestart();

  // The time to close it. Infinite while a KeepAlive stream is open.
  // on_deadline_change is called after a change.
  absl::Time deadline() const;

  // Stops the executor, kills it after `stop_time`, and blocks until it has
  // ended. Later calls wait for the first. First calls keepers with `reason`;
  // empty: its client closes it.
  void Close(const std::string& reason, absl::Duration stop_time = kStopTime);

 private:
  using State = v1::SessionInfo;

  // `opened` is first because the public constructors move the others.
  Session(absl::Time opened, Options options,
          std::shared_ptr<Executor> executor);

  // Called when its executor ends: the session recovers, waits for its client,
  // or is lost.
  void OnExecutorEnd(const absl::Status& reason);
  // Notes the fault of executor_, which has ended. Returns OK if the session
  // recovers, else why it is lost.
  absl::Status NoteFault(const absl::Status& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes that the last end was no fault: every received command was done.
  void MarkIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes all later calls fail with `reason`, with session_lost set.
  void SetLost(const absl::Status& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts a thread that recovers the session.
  void StartRecovery() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Recovers the session from its last fault. Returns false if no recovery is
  // left to do.
  bool RecoverOnce();
  // Marks the session as impossible to recover. Returns false.
  bool GiveUp(const absl::Status& failure);
  // Notes that its executor has saved its memory, and returns the bytes. The
  // executor cannot be used any more.
  absl::StatusOr<uint64_t> NoteSuspended(const std::shared_ptr<Executor>& saved)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Called when the last KeepAlive stream has ended. Returns false if there is
  // another.
  bool Detach() ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells the next daemon that it has no client.
  void KeepDetached() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As TakeUp.
  absl::Status CheckTakeUp() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // FAILED_PRECONDITION: it is not in a state in which it can be suspended.
  absl::Status CheckSuspendable() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Blocks while it is parked. Returns true if it was, and is unchanged.
  bool AwaitUnparked(absl::Time deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The error of calls while the last fault is not acknowledged.
  absl::Status RefusedCall() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The state that users see.
  State::State ShownState() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // OK if there is a fault of this epoch to acknowledge.
  absl::Status CheckAcknowledged(uint64_t epoch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes `executor` the session's. Returns false if the session is being
  // closed.
  bool Adopt(std::shared_ptr<Executor> executor);
  // Notes the devices of the executor that is being adopted.
  void NotePlace() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps the record as it is now, unless the session is being closed.
  void KeepRecord() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // FAILED_PRECONDITION: it is not suspended. UNAVAILABLE: not just now.
  absl::Status CheckSuspended() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Chooses this device for the suspended session's return. Blocks.
  absl::Status Place(uint32_t device, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Faulted() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return state_ == State::STATE_RECOVERING ||
           state_ == State::STATE_FAULTED || state_ == State::STATE_SUSPENDED;
  }
  std::shared_ptr<Executor> executor() const;
  // Tells the executor of the quota, if there is one, and waits until it knows.
  void ApplyQuota();
  // Each calls keepers under keepers_mutex_; NotifyKeepers for the last time.
  void NotifyKeepers(const std::string& reason);
  void TellKeepers(const v1::FaultReport& report, uint64_t epoch);

  // Constant, except for `kept` and `record`, which are moved out.
  Options options_;
  std::vector<DescriptorStore::Kept> kept_ ABSL_GUARDED_BY(mutex_);
  internal::SessionRecord record_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> current_devices_ ABSL_GUARDED_BY(mutex_);
  // The quota of SetQuota or of an earlier daemon; empty: none. The mutex is
  // held while the executor is told, so that it gets the last quota last.
  absl::Mutex quota_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  std::optional<v1::Quota> quota_ ABSL_GUARDED_BY(quota_mutex_);
  const LogFields log_fields_;
  const absl::Time opened_;
  const std::shared_ptr<grpc::Channel> channel_;

  const std::shared_ptr<TransferPipes> transfer_pipes_;

  std::atomic<int> execute_calls_{0};

  mutable absl::Mutex mutex_;
  std::shared_ptr<Executor> executor_ ABSL_GUARDED_BY(mutex_);
  v1::SessionInfo::State state_ ABSL_GUARDED_BY(mutex_) =
      v1::SessionInfo::STATE_ACTIVE;
  // It had a client and has none now, in any state.
  bool detached_ ABSL_GUARDED_BY(mutex_) = false;
  DescriptorStore::Kept kept_detached_ ABSL_GUARDED_BY(mutex_);
  // The client that it had under an earlier daemon may return until then.
  absl::Time returning_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // The client that got the token in TakeUp has until then for its KeepAlive.
  absl::Time taken_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 1;
  FaultHistory faults_ ABSL_GUARDED_BY(mutex_);
  v1::FaultReport last_fault_ ABSL_GUARDED_BY(mutex_);
  // The successor's inheritance; null if there is nothing to recover.
  std::unique_ptr<SessionHoldings> holdings_ ABSL_GUARDED_BY(mutex_);
  bool recovering_ ABSL_GUARDED_BY(mutex_) = false;  // in a thread
  // A thread suspends it, or looks for a device to resume it on.
  bool suspending_ ABSL_GUARDED_BY(mutex_) = false;
  bool parked_ ABSL_GUARDED_BY(mutex_) = false;
  // Left to the next daemon, by TellRestart.
  bool left_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread recovery_thread_ ABSL_GUARDED_BY(mutex_);
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
  std::string closed_because_ ABSL_GUARDED_BY(mutex_);  // once it is closing
  absl::Time deadline_ ABSL_GUARDED_BY(mutex_);
  int64_t last_keeper_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t open_keepers_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Mutex close_mutex_;

  // Held while keepers are called.
  absl::Mutex keepers_mutex_;
  struct Keepers {
    Keeper on_end;
    FaultKeeper on_fault;
    RestartKeeper on_restart;
  };
  std::map<int64_t, Keepers> keepers_ ABSL_GUARDED_BY(keepers_mutex_);

  // resuming_: calls of AcknowledgeFault that are resuming the executor. held_:
  // no such call may begin, because another daemon is about to take over.
  int resuming_ ABSL_GUARDED_BY(mutex_) = 0;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_H_
