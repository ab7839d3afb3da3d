// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RELAY_TRANSFER_PIPES_H_
#define HOLDFAST_SERVER_RELAY_TRANSFER_PIPES_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/relay/ring_call.h"
#include "server/relay/transfer_pipe.h"

namespace holdfast {

// The pipes from the daemon to a session's executor. A transfer makes a pipe if
// no pipe is idle. If all pipes are in use, transfers wait in the order in
// which they called Open. Idle pipes are kept for later transfers, because
// their pages are page-locked already. A pipe whose executor has ended is
// replaced. Thread-safe.
//
//   HOLDFAST_ASSIGN_OR_RETURN(const auto lease, pipes->Take());
//   HOLDFAST_RETURN_IF_ERROR(lease->Open(cancelled, deadline));  // waits
//   lease->pipe().Write(begin); ...           // until the end's message
//   lease->NoteDone();
class TransferPipes : public std::enable_shared_from_this<TransferPipes> {
 public:
  class Lease;

  // `send_fd` sends a descriptor to the executor and returns its token.
  // `session_token` has hexadecimal digits.
  struct Executor {
    std::shared_ptr<grpc::Channel> channel;
    std::function<absl::StatusOr<std::string>(int fd)> send_fd;
    std::string session_token;
  };
  explicit TransferPipes(Executor executor) : executor_(std::move(executor)) {}

  // The most leases, including leases that wait for a pipe. Each lease takes a
  // thread of the daemon. One client has at most 256 threads: enough for two
  // sessions with this number of leases.
  static constexpr size_t kMaxLeases = 128;

  // Returns a lease. RESOURCE_EXHAUSTED: there are kMaxLeases. Does not wait.
  absl::StatusOr<std::shared_ptr<Lease>> Take();

  // Returns the number of leases that wait for a pipe.
  size_t waiting() const;

  // Ends the idle pipes and the waits for a pipe, and makes no new pipe. Called
  // before the executor ends.
  void Close();

 private:
  struct Pipe {
    std::shared_ptr<TransferPipe> end;  // the daemon's
    std::shared_ptr<RingCall> call;     // null: there is no pipe
  };

  // Blocks until the lease may use a pipe. Returns the errors of Lease::Open.
  absl::Status AwaitTurn(const Lease& lease, const std::stop_token& cancelled,
                         absl::Time deadline);
  // Returns an idle pipe, or makes one. REQUIRES: AwaitTurn has succeeded.
  absl::StatusOr<Pipe> Open();
  absl::StatusOr<Pipe> Make();
  // Ends a lease. `in_use`: AwaitTurn has succeeded for it. `reusable`: the
  // pipe may serve another transfer.
  void GiveBack(Pipe pipe, bool in_use, bool reusable);

  const Executor executor_;
  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t leases_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<const Lease*> waiting_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::vector<Pipe> resting_ ABSL_GUARDED_BY(mutex_);
};

// The use of a pipe by one transfer and by all owners of its slots. At the end
// of the lease the pipe becomes idle if the transfer has succeeded; otherwise
// it is closed. Thread-safe, except for Open and NoteDone.
class TransferPipes::Lease {
 public:
  // REQUIRES: Take has counted the lease.
  explicit Lease(std::shared_ptr<TransferPipes> pipes)
      : pipes_(std::move(pipes)) {}
  ~Lease() { pipes_->GiveBack(std::move(pipe_), in_use_, done_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Blocks while kMaxPipes pipes are in use. Then takes an idle pipe, or makes
  // a pipe and waits for the executor. Called once. CANCELLED: `cancelled` was
  // requested. DEADLINE_EXCEEDED: all pipes were in use until `deadline`.
  // UNAVAILABLE: there is no executor, or the session is being closed. Other
  // errors: the executor's refusal.
  absl::Status Open(const std::stop_token& cancelled, absl::Time deadline);

  // REQUIRES, also for the methods below: Open has succeeded.
  TransferPipe& pipe() const { return *pipe_.end; }
  // Cancels the transfer. Does not block; the pipe closes a moment later.
  void Cancel() { pipe_.call->Cancel(); }
  // Notes that the transfer has succeeded. Slots may still be in use.
  void NoteDone() { done_ = true; }
  // Blocks until the call of the pipe has ended. Returns the executor's status.
  // For a closed pipe.
  grpc::Status AwaitEnd() const { return pipe_.call->AwaitEnd(); }

 private:
  const std::shared_ptr<TransferPipes> pipes_;
  Pipe pipe_;
  bool in_use_ = false;
  bool done_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_TRANSFER_PIPES_H_
