// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RELAY_TRANSFER_PIPES_H_
#define HOLDFAST_SERVER_RELAY_TRANSFER_PIPES_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/relay/ring_call.h"
#include "server/relay/transfer_pipe.h"

namespace holdfast {

// The pipes from the daemon to a session's executor. A transfer makes a pipe if
// none is idle. Idle pipes are kept for later transfers, because their pages
// are page-locked already. A pipe whose executor has ended is replaced.
// Thread-safe.
//
//   const auto lease = pipes->TryTake();      // nullptr: all are in use
//   HOLDFAST_RETURN_IF_ERROR(lease->Open());  // waits
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

  // Returns a lease; null if TransferPipe::kMaxPipes are in use. Does not wait.
  std::shared_ptr<Lease> TryTake();

  // Ends the idle pipes, and makes no new pipe. Called before the executor
  // ends.
  void Close();

 private:
  struct Pipe {
    std::shared_ptr<TransferPipe> end;  // the daemon's
    std::shared_ptr<RingCall> call;     // null: there is no pipe
  };

  absl::StatusOr<Pipe> Open();
  absl::StatusOr<Pipe> Make();
  void GiveBack(Pipe pipe, bool reusable);

  const Executor executor_;
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Pipe> resting_ ABSL_GUARDED_BY(mutex_);
};

// The use of a pipe by one transfer and by all owners of its slots. At the end
// of the lease the pipe becomes idle if the transfer has succeeded; otherwise
// it is closed. Thread-safe, except for Open and NoteDone.
class TransferPipes::Lease {
 public:
  // REQUIRES: TryTake has counted it.
  explicit Lease(std::shared_ptr<TransferPipes> pipes)
      : pipes_(std::move(pipes)) {}
  ~Lease() { pipes_->GiveBack(std::move(pipe_), done_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Takes an idle pipe, or makes a pipe and waits for the executor. Called
  // once. UNAVAILABLE: there is no executor, or the session is being closed.
  // Other errors: the executor's refusal.
  absl::Status Open();

  // REQUIRES, also for the methods below: Open has succeeded.
  TransferPipe& pipe() const { return *pipe_.end; }
  // Cancels the transfer; the pipe closes within a moment.
  void Cancel() { pipe_.call->Cancel(); }
  // Notes that the transfer has succeeded. Slots may still be in use.
  void NoteDone() { done_ = true; }
  // Waits for the executor's status for a closed pipe.
  grpc::Status AwaitEnd() const { return pipe_.call->AwaitEnd(); }

 private:
  const std::shared_ptr<TransferPipes> pipes_;
  Pipe pipe_;
  bool done_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_TRANSFER_PIPES_H_
