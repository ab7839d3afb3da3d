// SPDX-License-Identifier: Apache-2.0
//
// A session of one client: its identity, its token, its lease, and its life
// (SessionLife). Services use this class.
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_H_

#include <grpcpp/channel.h>

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
#include "server/rpc/call_limit.h"
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
// SessionRegistry makes the session, and closes it after deadline(). Services
// find the session by its token and call it from their own threads. A method
// blocks only if its comment says so; Close waits until the executor has ended.
class Session {
 public:
  static constexpr absl::Duration kFirstKeepAlive =
      session::Lease::kFirstKeepAlive;
  static constexpr absl::Duration kLostKept = session::Lease::kLostKept;
  static constexpr absl::Duration kStopTime = SessionLife::kStopTime;
  // The most Execute calls that a remote client can have at the same time. A
  // client needs one; the others are earlier calls whose broken connections the
  // daemon has not noticed yet.
  static constexpr int kMaxExecuteCalls = 8;

  struct Options {
    std::string id;
    std::string token;  // 16 bytes
    std::string name;
    v1::ClientInfo client_info;
    std::string peer;
    std::string client;  // the tenant that is charged for it
    // The work counters of its executors.
    std::shared_ptr<const ExecutionTotals> execution =
        std::make_shared<ExecutionTotals>();
    // The time from the end of the last KeepAlive stream to the end of the
    // session.
    absl::Duration grace;
    // True if the session can live without a client, and other clients of its
    // tenant can take it up.
    bool detachable = false;
    std::vector<uint32_t> devices;  // as its client names them
    std::string socket_path;        // of the executor
    std::string descriptor_socket_path;
    // The limits from opening; a quota restricts them further.
    internal::AccountLimits limits;
    // The quota that SetQuota has set under an earlier daemon.
    std::optional<v1::Quota> quota;
    // The record that is kept for the next daemon.
    KeptSessionRecord::Options kept;
    // NEVER: a fault loses the session. ASK: the session recovers when its
    // client acknowledges the fault. Otherwise the session recovers at once.
    v1::RecoveryPolicy recover = v1::RECOVERY_POLICY_NEVER;
    FaultLimits fault_limits;
    // Gets another executor. Null if the session cannot be recovered.
    std::unique_ptr<SessionRecovery> recovery;
    std::function<absl::Time()> now;           // clock that clients see
    std::function<absl::Time()> lease_time;    // clock of leases
    std::function<void()> on_deadline_change;  // not called under a lock
  };

  // REQUIRES: `executor` serves these options; now, lease_time and
  // on_deadline_change are set.
  Session(Options options, std::shared_ptr<Executor> executor);
  // The state of a session that an earlier daemon has left. The new daemon
  // recovers the session as after a suspension if it was idle, otherwise as
  // after a fault. A session that was suspended stays suspended. The client has
  // time to return.
  struct Left {
    std::unique_ptr<SessionHoldings> holdings;
    uint64_t epoch = 1;
    bool idle = false;
    // True if the session had no client. If false, its client has
    // kFirstKeepAlive to return, and no other client can take the session up
    // during this time.
    bool detached = false;
    absl::Time opened;
  };
  Session(Options options, Left left);
  // Closes the session.
  ~Session();

  // Returns "s-" and a number, unique in the daemon's directory.
  const std::string& id() const { return options_.id; }
  const std::string& client() const { return options_.client; }
  // Returns the ordinals of the session's devices in the client's numbering.
  // They never change.
  const std::vector<uint32_t>& devices() const { return options_.devices; }
  // Returns the devices that the session runs on, in the order of devices().
  std::vector<uint32_t> current_devices() const {
    absl::MutexLock lock(&mutex_);
    return current_devices_;
  }
  // Returns the pid of the present executor; 0 if there is no executor.
  pid_t executor_pid() const { return executor()->pid(); }
  // Return the addresses for clients on this machine, which connect to the
  // executor directly: for rpcs, and for descriptors.
  std::string local_address() const { return "unix:" + options_.socket_path; }
  std::string descriptor_address() const {
    return "unix:" + options_.descriptor_socket_path;
  }
  // Returns the state and usage of the session. Requests the usage from the
  // executor, and waits for at most 200 ms. If the executor does not answer in
  // time, returns older values.
  v1::SessionInfo Info() const;

  // Gives a client that has returned kFirstKeepAlive to open its KeepAlive
  // stream. Has no effect while a stream is open.
  void NoteAttach();
  // Returns the number of the last received command. Returns the errors of
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
  // Gives a detached session to another client. This client then has
  // kFirstKeepAlive to open a stream; no third client gets the session during
  // this time. If the previous client has just left, waits for at most a second
  // until the session is detached. FAILED_PRECONDITION: the session has a
  // client (also if a restart of the daemon has disconnected this client), is
  // not detachable, or is lost.
  absl::StatusOr<TakenUp> TakeUp();

  // Returns true if `token` is the session's token. Compares in constant time.
  bool HasToken(absl::string_view token) const;

  // Returns the channel to the executor's socket. The channel connects on first
  // use. It stays valid after a recovery, because the paths of the sockets do
  // not change.
  std::shared_ptr<grpc::Channel> executor_channel() const { return channel_; }

  // Sends a copy of a descriptor to the executor, as a client does. Returns the
  // token that names the descriptor in a call. Blocks for up to 10 s. Returns
  // the errors of holdfast::SendFd.
  absl::StatusOr<std::string> SendFd(int fd) const;
  // Returns the count of open Execute calls. The session must outlive the
  // result of CallLimit::Take.
  CallLimit& execute_calls() { return execute_calls_; }

  // Returns the pipes to the executor, for transfers of remote clients. Pipes
  // to an executor that has ended are replaced.
  TransferPipes& transfer_pipes() { return *transfer_pipes_; }

  // Returns the epoch; see SessionLife::epoch.
  uint64_t epoch() const { return life_->epoch(); }
  // Returns OK, or the reason why the session does not serve commands:
  // UNAVAILABLE with ErrorDetail.session_lost, or ABORTED with its fault_epoch.
  // Never blocks.
  absl::Status Serving() const { return AwaitLoss(absl::InfinitePast()); }
  // Returns true if the session will never serve commands again.
  bool lost() const { return IsOver(life_->state()); }

  // See SessionService.AcknowledgeFault; blocks until the recovery is done.
  // FAILED_PRECONDITION: there is no fault. ABORTED: the session is lost, or
  // the fault has an epoch other than `epoch`. DEADLINE_EXCEEDED: the recovery
  // is still running.
  absl::StatusOr<v1::AcknowledgeFaultResponse> AcknowledgeFault(
      uint64_t epoch, absl::Time deadline) {
    return life_->AcknowledgeFault(epoch, deadline);
  }
  // Returns the same result as Serving, for a caller whose call to the executor
  // broke. Blocks until a loss or a fault is known. Returns OK if the session
  // still serves at the deadline.
  absl::Status AwaitLoss(absl::Time deadline) const {
    return life_->AwaitLoss(deadline);
  }

  // See KeepAliveStreams::Stream.
  using Keeper = std::function<void(const std::string& reason)>;
  using FaultKeeper =
      std::function<void(const v1::FaultReport& report, uint64_t epoch)>;
  using RestartKeeper = std::function<void()>;
  // Adds a KeepAlive stream, and reports the present state at once: calls
  // `on_end` if the session is over, or `on_fault` if a fault or suspension is
  // not acknowledged. Returns the number for RemoveKeeper. Callbacks must not
  // call AddKeeper, RemoveKeeper or Close.
  int64_t AddKeeper(Keeper on_end, FaultKeeper on_fault = nullptr,
                    RestartKeeper on_restart = nullptr);
  // Removes a stream. Removing the last stream detaches the session and starts
  // its grace.
  void RemoveKeeper(int64_t keeper);

  // Moves the session's device memory to the file `path`, or to host memory if
  // `path` is empty. The session's work has until `deadline` to end. Blocks
  // until the memory is moved, and returns the number of bytes. If Suspend
  // fails, the session continues. FAILED_PRECONDITION: the session's state does
  // not allow it, or a resource cannot be suspended; the message names the
  // state or the resource.
  absl::StatusOr<uint64_t> Suspend(const std::string& path,
                                   absl::Time deadline) {
    return life_->Suspend(path, deadline);
  }
  // Resumes the session without its client, on `device` if it is given. Blocks
  // until the session has resumed. Returns the errors of
  // AdminService.ResumeSession.
  absl::Status ResumeSuspended(std::optional<uint32_t> device,
                               absl::Time deadline);

  // Restricts the session's resources, in addition to the limits from opening.
  // Replaces an earlier quota. The session keeps all its present resources.
  // Waits until the executor has the quota: for two answers of the executor, at
  // most 200 ms for each. Returns the error of CheckSessionQuota.
  absl::Status SetQuota(const v1::Quota& quota);

  // Returns the work counters of the session's executors.
  const ExecutionTotals& execution() const { return *options_.execution; }

  // Blocks until the session's work has ended, at most until `deadline`, before
  // another daemon takes over. Clients see a suspension. FAILED_PRECONDITION: a
  // resource, which the message names, would not survive. The session continues
  // if Park fails, or after Unpark.
  absl::Status Park(absl::Time deadline) { return life_->Park(deadline); }
  void Unpark(absl::Time deadline) { life_->Unpark(deadline); }
  // Returns true if the next daemon takes an executor for the session at its
  // start.
  bool NeedsExecutorNext() const { return life_->NeedsExecutorNext(); }
  // Returns true if the session's executors are clients of an MPS server.
  bool shares_server() const { return life_->shares_server(); }
  // Blocks until the session is not recovering, at most until `deadline`.
  void AwaitRecovered(absl::Time deadline) const {
    life_->AwaitRecovered(deadline);
  }
  // Leaves the session to the next daemon in its present state, and calls
  // `on_restart` of every KeepAlive stream. This cannot be undone.
  void TellRestart();

  // Returns the time at which the session is to be closed. Infinite while a
  // KeepAlive stream is open. on_deadline_change is called after the last
  // stream has ended, and after the session is lost.
  absl::Time deadline() const;

  // A lost session exists for another kLostKept, so that its clients get the
  // reason. Its process and descriptors ("remains") are not needed any more.
  // HasRemains returns true while it has them. ReleaseRemains releases them,
  // and blocks; it has no effect if the session is not lost.
  bool HasRemains() const { return life_->HasRemains(); }
  void ReleaseRemains();

  // Calls each stream's `on_end` with `reason`, which is empty if the client
  // closes the session. Then stops the executor, kills it after `stop_time`,
  // and blocks until it has ended. Later calls of Close wait for the first
  // call.
  void Close(const std::string& reason, absl::Duration stop_time = kStopTime);

 private:
  // `opened` and `lease` come first because the public constructors move the
  // other arguments.
  Session(
      absl::Time opened, session::Lease lease, Options options,
      const std::function<std::unique_ptr<SessionLife>(SessionLife::Options)>&
          begin);

  // SessionLife's callbacks. OnChange notifies every KeepAlive stream.
  void OnChange();
  void OnDevices(const std::vector<uint32_t>& devices);
  // Notifies `stream` of a fault that is not acknowledged, or of the end.
  // Returns false if the session is over.
  bool Greet(const KeepAliveStreams::Stream& stream) const;
  absl::Status CheckTakeUp() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Executor> executor() const { return life_->executor(); }
  // If there is a quota, sends it to the executor, and waits as SetQuota does.
  void ApplyQuota();

  Options options_;  // constant; the constructor moves parts of it out
  const LogFields log_fields_;
  const absl::Time opened_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::shared_ptr<TransferPipes> transfer_pipes_;
  CallLimit execute_calls_{"Execute calls of one session", kMaxExecuteCalls};
  KeepAliveStreams streams_;

  // The quota of SetQuota or of an earlier daemon; empty if there is no quota.
  // The mutex is held while the quota is sent to the executor, so that the
  // executor gets the last quota last.
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
