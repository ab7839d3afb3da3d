// SPDX-License-Identifier: Apache-2.0
//
// One client's session, as services see it: its identity, its secret, its
// lease, and its life (SessionLife).
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_H_

#include <grpcpp/channel.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/log_scope.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/kept/descriptor_store.h"
#include "server/relay/transfer_pipes.h"
#include "server/session/lease.h"
#include "server/supervisor/executor.h"
#include "server/supervisor/fault_history.h"
#include "server/supervisor/keep_alive_streams.h"
#include "server/supervisor/kept_session_record.h"
#include "server/supervisor/session_life.h"
#include "server/supervisor/session_recovery.h"

namespace holdfast::supervisor {

// Thread-safe.
//
// Made by SessionRegistry, which closes it after deadline(). Services look it
// up by its token and call it from their own threads. Calls block only where
// that is documented; Close waits for the executor's end.
class Session {
 public:
  static constexpr absl::Duration kFirstKeepAlive =
      session::Lease::kFirstKeepAlive;
  static constexpr absl::Duration kLostKept = session::Lease::kLostKept;
  static constexpr absl::Duration kStopTime = SessionLife::kStopTime;
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
    // For the next daemon.
    KeptSessionRecord::Options kept;
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
  absl::Status Serving() const { return AwaitLoss(absl::InfinitePast()); }
  // True if it will never serve commands again.
  bool lost() const { return IsOver(life_->state()); }

  // See SessionService.AcknowledgeFault; blocks until the recovery is done.
  // FAILED_PRECONDITION: there is no fault. ABORTED: the session is lost, or
  // the fault is not that of `epoch`. DEADLINE_EXCEEDED: the recovery is still
  // going on.
  absl::StatusOr<v1::AcknowledgeFaultResponse> AcknowledgeFault(
      uint64_t epoch, absl::Time deadline) {
    return life_->AcknowledgeFault(epoch, deadline);
  }
  // Like Serving, for a caller whose call to the executor broke: blocks until
  // the cause, a loss or a fault, is known. Returns OK if nothing has happened
  // until the deadline.
  absl::Status AwaitLoss(absl::Time deadline) const {
    return life_->AwaitLoss(deadline);
  }

  // See KeepAliveStreams::Stream.
  using Keeper = std::function<void(const std::string& reason)>;
  using FaultKeeper =
      std::function<void(const v1::FaultReport& report, uint64_t epoch)>;
  using RestartKeeper = std::function<void()>;
  // Adds a KeepAlive stream. Calls back at once with the present state:
  // `on_end` if the session is over, `on_fault` if a fault is not acknowledged.
  // Callbacks must not call AddKeeper, RemoveKeeper or Close.
  int64_t AddKeeper(Keeper on_end, FaultKeeper on_fault = nullptr,
                    RestartKeeper on_restart = nullptr);
  // Removes a stream. The last one detaches the session and starts its grace.
  void RemoveKeeper(int64_t keeper);

  // Moves the session's device memory to the file `path`, or to host memory if
  // that is empty; its work has until `deadline` to end. Returns the bytes.
  // Blocks. If it fails, the session continues. FAILED_PRECONDITION names its
  // state, or the resource that cannot be suspended.
  absl::StatusOr<uint64_t> Suspend(const std::string& path,
                                   absl::Time deadline) {
    return life_->Suspend(path, deadline);
  }
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
  absl::Status Park(absl::Time deadline) { return life_->Park(deadline); }
  void Unpark(absl::Time deadline) { life_->Unpark(deadline); }
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
  // `opened` and `lease` come first because the public constructors move the
  // others.
  Session(
      absl::Time opened, session::Lease lease, Options options,
      const std::function<std::unique_ptr<SessionLife>(SessionLife::Options)>&
          begin);

  // SessionLife's callbacks. OnChange tells every KeepAlive stream.
  void OnChange();
  void OnDevices(const std::vector<uint32_t>& devices);
  // Tells `stream` of a fault that is not acknowledged, or of the end. False:
  // the session is over.
  bool Greet(const KeepAliveStreams::Stream& stream) const;
  absl::Status CheckTakeUp() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Executor> executor() const { return life_->executor(); }
  // Tells the executor of the quota, if there is one, and waits until it knows.
  void ApplyQuota();

  Options options_;  // constant; the constructor moves parts of it out
  const LogFields log_fields_;
  const absl::Time opened_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::shared_ptr<TransferPipes> transfer_pipes_;
  std::atomic<int> execute_calls_{0};
  KeepAliveStreams streams_;

  // The quota of SetQuota or of an earlier daemon; empty: none. The mutex is
  // held while the executor is told, so that it gets the last quota last.
  absl::Mutex quota_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  std::optional<v1::Quota> quota_ ABSL_GUARDED_BY(quota_mutex_);

  mutable absl::Mutex mutex_;
  session::Lease lease_ ABSL_GUARDED_BY(mutex_);
  KeptSessionRecord kept_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> current_devices_ ABSL_GUARDED_BY(mutex_);
  std::string closed_because_ ABSL_GUARDED_BY(mutex_);  // empty: it is open

  absl::Mutex close_mutex_;  // held while Close runs
  const std::unique_ptr<SessionLife> life_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_H_
