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

// The pipes from the daemon to a session's executor: made when a transfer finds
// none at rest, and kept for those to come, since their pages are page-locked
// by then. A pipe whose executor has ended is replaced. Thread-safe.
//
//   const auto lease = pipes->TryTake();      // nullptr: all are in use
//   HOLDFAST_RETURN_IF_ERROR(lease->Open());  // waits
//   lease->pipe().Write(begin); ...           // until the end's message
//   lease->NoteDone();
class TransferPipes : public std::enable_shared_from_this<TransferPipes> {
 public:
  class Lease;

  // `send_fd` hands a descriptor to the executor and returns its token.
  // `session_token`: in hexadecimal digits.
  struct Executor {
    std::shared_ptr<grpc::Channel> channel;
    std::function<absl::StatusOr<std::string>(int fd)> send_fd;
    std::string session_token;
  };
  explicit TransferPipes(Executor executor) : executor_(std::move(executor)) {}

  // nullptr: TransferPipe::kMaxPipes are in use. Does not wait.
  std::shared_ptr<Lease> TryTake();

  // The executor is to end: makes no pipe from now on, and ends those at rest.
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

// One transfer's hold on a pipe, and that of whoever still uses its slots. The
// pipe rests from its end on, if the transfer ended well, and is given up
// otherwise. Thread-safe but for Open and NoteDone.
class TransferPipes::Lease {
 public:
  // REQUIRES: TryTake has counted it.
  explicit Lease(std::shared_ptr<TransferPipes> pipes)
      : pipes_(std::move(pipes)) {}
  ~Lease() { pipes_->GiveBack(std::move(pipe_), done_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Finds a pipe, and waits for the executor where that takes a new one. Once.
  // UNAVAILABLE: there is no executor, or the session is being closed; else the
  // executor's refusal.
  absl::Status Open();

  // REQUIRES, as all that follow: it is open.
  TransferPipe& pipe() const { return *pipe_.end; }
  // Gives the transfer up: the pipe is closed within a moment.
  void Cancel() { pipe_.call->Cancel(); }
  // The transfer has ended well; slots may still have to be returned.
  void NoteDone() { done_ = true; }
  // The executor's word about a pipe that is closed. Waits for it.
  grpc::Status AwaitEnd() const { return pipe_.call->AwaitEnd(); }

 private:
  const std::shared_ptr<TransferPipes> pipes_;
  Pipe pipe_;
  bool done_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_TRANSFER_PIPES_H_
