// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_PUSH_STREAM_H_
#define HOLDFAST_SERVER_RPC_PUSH_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {

// A call that is answered by messages as they come, from any thread. Ends when
// the client cancels it, when Finish is called, or with RESOURCE_EXHAUSTED if
// the client leaves kMaxPending messages unread. Deletes itself when it is
// over, after `over` was called. Thread-safe.
template <typename Message>
class PushStream final : public grpc::ServerWriteReactor<Message> {
 public:
  static constexpr size_t kMaxPending = 1024;

  explicit PushStream(std::function<void()> over) : over_(std::move(over)) {}

  void Push(Message message) {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    pending_.push_back(std::move(message));
    if (pending_.size() > kMaxPending) {
      pending_.resize(1);  // Under way.
      end_ = absl::ResourceExhaustedError("the client does not read");
    }
    Proceed();
  }

  // When all that was pushed is sent.
  void End(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    if (!end_.has_value()) end_ = std::move(status);
    Proceed();
  }

  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    pending_.pop_front();
    if (!ok) Drop();
    Proceed();
  }

  void OnCancel() override {
    absl::MutexLock lock(&mutex_);
    Drop();
    Proceed();
  }

  void OnDone() override {
    over_();
    delete this;
  }

 private:
  // The client has left.
  void Drop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    pending_.resize(writing_ ? 1 : 0);
    if (!end_.has_value()) end_ = absl::CancelledError("the client has left");
  }

  void Proceed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_) return;
    if (!pending_.empty()) {
      writing_ = true;
      this->StartWrite(&pending_.front());
    } else if (end_.has_value()) {
      finished_ = true;
      this->Finish(ToGrpcStatus(*end_));
    }
  }

  const std::function<void()> over_;
  absl::Mutex mutex_;
  // The first is under way while writing_.
  std::deque<Message> pending_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_PUSH_STREAM_H_
