// SPDX-License-Identifier: Apache-2.0
//
// One client's session: its secret, its executor, and how long it lives.
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
#include "server/relay/transfer_pipes.h"
#include "server/restart/descriptor_store.h"
#include "server/supervisor/executor.h"
#include "server/supervisor/fault_history.h"
#include "server/supervisor/session_recovery.h"

namespace holdfast::supervisor {

// Thread-safe.
//
// Made by SessionRegistry, which closes it when deadline() has passed. Services
// look it up by its token and call it from their own threads. Nothing here
// blocks but where that is said; Close waits for the executor's end.
class Session {
 public:
  // A session whose client opens no KeepAlive stream ends after it; so long has
  // a client that attaches or takes it up.
  static constexpr absl::Duration kFirstKeepAlive = absl::Seconds(30);
  // A lost session that no stream watches can tell why for so long.
  static constexpr absl::Duration kLostKept = absl::Minutes(1);
  // An executor that is asked to stop has so long before it is killed.
  static constexpr absl::Duration kStopTime = absl::Seconds(5);
  // Execute calls of a remote client at once: one, and those before it whose
  // connections broke, until that is noticed.
  static constexpr int kMaxExecuteCalls = 8;

  struct Options {
    std::string id;
    std::string token;  // 16 bytes
    std::string name;
    v1::ClientInfo client_info;
    std::string peer;
    std::string client;  // the name of the tenant that pays for it
    // The work of its executors.
    std::shared_ptr<const ExecutionTotals> execution =
        std::make_shared<ExecutionTotals>();
    // From the end of the last KeepAlive stream to the end of the session.
    absl::Duration grace;
    // Lives on without a client on purpose: others of its tenant can take it
    // up.
    bool detachable = false;
    std::vector<uint32_t> devices;  // as its client names them
    std::string socket_path;        // of the executor
    std::string descriptor_socket_path;
    // As it was opened; a quota restricts them further.
    internal::AccountLimits limits;
    // By SetQuota, under the daemon before.
    std::optional<v1::Quota> quota;
    // Its record and sockets, until it closes.
    std::vector<DescriptorStore::Kept> kept;
    // As it is kept, and what keeps it anew; null: it is not kept.
    internal::SessionRecord record;
    std::function<DescriptorStore::Kept(const internal::SessionRecord&)>
        keep_record;
    // Keeps that it has no client; null: that is not kept.
    std::function<DescriptorStore::Kept()> keep_detached;
    // NEVER: a fault loses the session; ASK: it recovers when its client
    // acknowledges; else at once.
    v1::RecoveryPolicy recover = v1::RECOVERY_POLICY_NEVER;
    FaultLimits fault_limits;
    // Gives it another executor; null: nobody can.
    std::unique_ptr<SessionRecovery> recovery;
    std::function<absl::Time()> now;           // what clients are shown
    std::function<absl::Time()> lease_time;    // what leases are measured by
    std::function<void()> on_deadline_change;  // not called under a lock
  };

  // `executor` has served with these options. REQUIRES: options.now,
  // options.lease_time and options.on_deadline_change.
  Session(Options options, std::shared_ptr<Executor> executor);
  // A session that an earlier daemon has left. It recovers by itself, as after
  // a fault, or after a suspension if nothing of it ran; one that an operator
  // had suspended stays so. Its client has a while to come back.
  struct Left {
    std::unique_ptr<SessionHoldings> holdings;
    uint64_t epoch = 1;
    bool idle = false;
    // It had no client; else its client has kFirstKeepAlive to come back, and
    // no other can take it up meanwhile.
    bool detached = false;
    absl::Time opened;
  };
  Session(Options options, Left left);
  // Closes it.
  ~Session();

  // "s-" and a number, unique in the daemon's directory.
  const std::string& id() const { return options_.id; }
  const std::string& client() const { return options_.client; }
  // Ordinals as its client names them; they do not change.
  const std::vector<uint32_t>& devices() const { return options_.devices; }
  // The devices that it is on, in the same order.
  std::vector<uint32_t> current_devices() const {
    absl::MutexLock lock(&mutex_);
    return current_devices_;
  }
  // The pid of the executor that it has now. 0: it has none.
  pid_t executor_pid() const { return executor()->pid(); }
  // For clients of this machine, who connect past the daemon.
  std::string local_address() const { return "unix:" + options_.socket_path; }
  std::string descriptor_address() const {
    return "unix:" + options_.descriptor_socket_path;
  }
  // Asks the executor, which may take a moment. Waits for 200 ms at most; an
  // executor that does not answer is shown as it was.
  v1::SessionInfo Info() const;

  // A client says that it is back: it has a while for its KeepAlive stream.
  // Does nothing while a stream is open.
  void NoteAttach();
  // The last command that has arrived. Fails as Executor::ReceivedThrough.
  absl::StatusOr<uint64_t> ReceivedThrough() const {
    return executor()->ReceivedThrough();
  }
  // Takes up the session for a client that does not know its token.
  struct TakenUp {
    std::string token;
    uint64_t received_through = 0;         // as AttachSessionResponse
    std::optional<v1::FaultReport> fault;  // that nobody has acknowledged
    uint64_t epoch = 0;
  };
  // FAILED_PRECONDITION: it has a client, which may be one that the daemon's
  // restart has cut off, is not detachable, or is lost. Waits for a second at
  // most for the end of a client that has just left. A client that is given the
  // token has kFirstKeepAlive to open a stream; until then no other is.
  absl::StatusOr<TakenUp> TakeUp();

  // In constant time.
  bool HasToken(absl::string_view token) const;

  // To the executor's own socket; connects when it is used first. Does not
  // change over a recovery, since the sockets' paths do not.
  std::shared_ptr<grpc::Channel> executor_channel() const { return channel_; }

  // Hands a descriptor to the executor, as its client would. Returns the token
  // that a call then names. Blocks, for up to 10 s; fails as
  // holdfast::SendFd.
  absl::StatusOr<std::string> SendFd(int fd) const;
  // A place for one more Execute call, which is given back with the pointer;
  // the session must live until then. RESOURCE_EXHAUSTED: there are
  // kMaxExecuteCalls.
  absl::StatusOr<std::shared_ptr<void>> TakeExecuteCall();

  // To the executor, for transfers of remote clients. Those to an executor that
  // has ended are replaced.
  TransferPipes& transfer_pipes() { return *transfer_pipes_; }

  // OK, or why the session does not serve commands: UNAVAILABLE with
  // ErrorDetail.session_lost, or ABORTED with its fault_epoch. Never blocks.
  absl::Status Serving() const;
  // It will never serve commands again.
  bool lost() const;

  // As SessionService.AcknowledgeFault says; waits for the recovery.
  // FAILED_PRECONDITION: there is no fault. ABORTED: it is lost, or the fault
  // is another than that of `epoch`. DEADLINE_EXCEEDED: it was not recovered in
  // time; the recovery goes on.
  absl::StatusOr<v1::AcknowledgeFaultResponse> AcknowledgeFault(
      uint64_t epoch, absl::Time deadline);
  // Like Serving, but waits, until the deadline, for the loss or the fault to
  // be known: for a caller whose call to the executor broke. OK at the
  // deadline: nothing has happened.
  absl::Status AwaitLoss(absl::Time deadline) const;

  // A KeepAlive stream opens and closes. `on_end` is called at most once, not
  // after RemoveKeeper has returned: with the reason when the session ends by
  // itself, with "" when the client closes it.
  using Keeper = std::function<void(const std::string& reason)>;
  // Called with the report of each fault, and again when the session has
  // another executor, with the epoch that began.
  using FaultKeeper =
      std::function<void(const v1::FaultReport& report, uint64_t epoch)>;
  // Called when the daemon is about to make way for another, which will have
  // the session.
  using RestartKeeper = std::function<void()>;
  // The callbacks are called at once, with what has happened already: `on_end`
  // if the session is over, `on_fault` if a fault is not acknowledged.
  // Callbacks run under a lock: they must not call AddKeeper, RemoveKeeper or
  // Close.
  int64_t AddKeeper(Keeper on_end, FaultKeeper on_fault = nullptr,
                    RestartKeeper on_restart = nullptr);
  // When the last stream ends the session is detached, and its grace begins.
  void RemoveKeeper(int64_t keeper);

  // Takes the session off its devices, into the file of this name, or into host
  // memory if it is empty; its work has until `deadline` to end. Returns the
  // bytes of its device memory. Blocks. If it fails, the session goes on.
  // FAILED_PRECONDITION names its state, or what cannot be suspended.
  absl::StatusOr<uint64_t> Suspend(const std::string& path,
                                   absl::Time deadline);
  // Brings it back without waiting for its client, on `device` if one is given.
  // Blocks. Fails as AdminService.ResumeSession says.
  absl::Status ResumeSuspended(std::optional<uint32_t> device,
                               absl::Time deadline);

  // Restricts what it may hold, besides the limits that it was opened with;
  // replaces an earlier quota. Nothing held is taken away. Waits, for 200 ms at
  // most, until the executor knows it. INVALID_ARGUMENT: as CheckSessionQuota.
  absl::Status SetQuota(const v1::Quota& quota);

  // The counts of its executors' work.
  const ExecutionTotals& execution() const { return *options_.execution; }

  // Lets its work end until `deadline`, for a daemon that makes way for
  // another: to clients it is as if it were suspended. FAILED_PRECONDITION
  // names what would not survive that. If it fails the session goes on; else it
  // does when Unpark is called.
  absl::Status Park(absl::Time deadline);
  void Unpark(absl::Time deadline);
  // The daemon is about to be replaced, and nothing takes that back: the next
  // one has the session as it is now.
  void TellRestart();

  // When to close it, if nothing else happens. Infinite while a KeepAlive
  // stream is open. on_deadline_change is called after it has changed.
  absl::Time deadline() const;

  // Stops the executor, kills it after `stop_time`, and waits for it. Later
  // calls wait for the first. Keepers are called with `reason` first. An empty
  // one: its client closes it.
  void Close(const std::string& reason, absl::Duration stop_time = kStopTime);

 private:
  using State = v1::SessionInfo;

  // `opened` is first: the public constructors read it from what they move.
  Session(absl::Time opened, Options options,
          std::shared_ptr<Executor> executor);

  // Its executor's callback: the session recovers, waits for its client, or is
  // lost.
  void OnExecutorEnd(const absl::Status& reason);
  // Notes the fault of executor_, which has ended. OK: the session is to
  // recover; else why it is lost.
  absl::Status NoteFault(const absl::Status& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The last fault was no fault: everything that had arrived was done.
  void MarkIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For the rest of its life calls get `reason`, with session_lost set.
  void SetLost(const absl::Status& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has a thread recover the session.
  void StartRecovery() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Brings the session back from its last fault. Returns false when there is
  // nothing (more) to do.
  bool RecoverOnce();
  // The session cannot be recovered. Returns false.
  bool GiveUp(const absl::Status& failure);
  // Its executor has saved its memory. Returns how much; the executor is of no
  // more use.
  absl::StatusOr<uint64_t> NoteSuspended(const std::shared_ptr<Executor>& saved)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The last KeepAlive stream has ended. False: there is another.
  bool Detach() ABSL_LOCKS_EXCLUDED(mutex_);
  // Keeps for the next daemon that it has no client.
  void KeepDetached() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As TakeUp.
  absl::Status CheckTakeUp() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // FAILED_PRECONDITION: it is not in a state in which it can be suspended.
  absl::Status CheckSuspendable() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Waits while it is parked. True: it was, and is as it was before.
  bool AwaitUnparked(absl::Time deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The answer to calls while the last fault is not acknowledged.
  absl::Status RefusedCall() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // As users know it.
  State::State ShownState() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Is there a fault of this epoch to acknowledge?
  absl::Status CheckAcknowledged(uint64_t epoch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes it the session's executor. False: the session is being closed.
  bool Adopt(std::shared_ptr<Executor> executor);
  // Notes on which devices the executor that is being adopted is.
  void NotePlace() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps the record as it is now, unless the session is being closed.
  void KeepRecord() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // FAILED_PRECONDITION: it is not suspended. UNAVAILABLE: not just now.
  absl::Status CheckSuspended() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Decides that the suspended session comes back on this device. Blocks.
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

  // Never changes but for `kept` and `record`, which are taken out.
  Options options_;
  std::vector<DescriptorStore::Kept> kept_ ABSL_GUARDED_BY(mutex_);
  internal::SessionRecord record_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> current_devices_ ABSL_GUARDED_BY(mutex_);
  // By SetQuota, or of the daemon before; empty: there is none. Held while the
  // executor is told, so that it hears of the last quota last.
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
  // It has had a client and has none, whatever its state.
  bool detached_ ABSL_GUARDED_BY(mutex_) = false;
  DescriptorStore::Kept kept_detached_ ABSL_GUARDED_BY(mutex_);
  // The client that it had under the daemon before may come back until then.
  absl::Time returning_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // A client that has been given the token has this time for its KeepAlive.
  absl::Time taken_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 1;
  FaultHistory faults_ ABSL_GUARDED_BY(mutex_);
  v1::FaultReport last_fault_ ABSL_GUARDED_BY(mutex_);
  // The successor's inheritance; null: there is nothing to recover from.
  std::unique_ptr<SessionHoldings> holdings_ ABSL_GUARDED_BY(mutex_);
  bool recovering_ ABSL_GUARDED_BY(mutex_) = false;  // a thread is at it
  // Likewise, or at finding it a place to come back to.
  bool suspending_ ABSL_GUARDED_BY(mutex_) = false;
  bool parked_ ABSL_GUARDED_BY(mutex_) = false;
  // It is the next daemon's, by TellRestart.
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

  // Acknowledgements that have their executor serve just now; and whether they
  // have to wait, since nothing is to begin in a daemon that makes way.
  int resuming_ ABSL_GUARDED_BY(mutex_) = 0;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_H_
