// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_PUSH_STREAM_H_
#define HOLDFAST_SERVER_RPC_PUSH_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {

// A call by which any thread can send messages to the client. The call ends
// when the client cancels it, when End is called, or with RESOURCE_EXHAUSTED if
// more than kMaxPending pushes are unsent; the messages of one push count once.
// The object calls `over` and deletes itself when the call is over.
// Thread-safe.
//
// For answers that continue after the method has returned: the service makes
// the stream with `new`, returns it to gRPC, and keeps a pointer until `over`
// is called:
//
//   auto* stream = new PushStream<Event>([this] { Forget(); });
//   stream->Push(event);    // any thread, any number of times
//   stream->End(status);    // at most one takes effect
template <typename Message>
class PushStream final : public grpc::ServerWriteReactor<Message> {
 public:
  // The most unsent pushes, including the push that is being sent.
  static constexpr size_t kMaxPending = 1024;

  // Messages that streams may share.
  using Messages = std::shared_ptr<const std::vector<Message>>;

  // `over` is called once, by gRPC's thread, and must not use the stream.
  explicit PushStream(std::function<void()> over) : over_(std::move(over)) {}

  // Queues a message for the client; does not block. Has no effect once the
  // call is ending.
  void Push(Message message) {
    Push(std::make_shared<const std::vector<Message>>(1, std::move(message)));
  }

  // Like Push(Message), for several messages in this order. REQUIRES:
  // `messages` is not empty.
  void Push(Messages messages) {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    pending_.push_back(std::move(messages));
    if (pending_.size() > kMaxPending) {
      pending_.resize(1);  // Under way.
      end_ = absl::ResourceExhaustedError("the client does not read");
    }
    Proceed();
  }

  // Ends the call with `status` after all pushed messages were sent. Only the
  // first status counts.
  void End(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    if (!end_.has_value()) end_ = std::move(status);
    Proceed();
  }

  // Called by gRPC.
  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (++written_ == pending_.front()->size()) {
      pending_.pop_front();
      written_ = 0;
    }
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
  // Drops the queued messages, because the client has gone. The message that is
  // being sent stays until gRPC has finished with it.
  void Drop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    pending_.resize(writing_ ? 1 : 0);
    if (!writing_) written_ = 0;
    if (!end_.has_value()) end_ = absl::CancelledError("the client has left");
  }

  // Starts the next write, or ends the call if all is sent.
  void Proceed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_) return;
    if (!pending_.empty()) {
      writing_ = true;
      this->StartWrite(&(*pending_.front())[written_]);
    } else if (end_.has_value()) {
      finished_ = true;
      this->Finish(ToGrpcStatus(*end_));
    }
  }

  const std::function<void()> over_;
  absl::Mutex mutex_;
  // While writing_ is true, a message of the first push is being sent.
  std::deque<Messages> pending_ ABSL_GUARDED_BY(mutex_);
  size_t written_ ABSL_GUARDED_BY(mutex_) = 0;  // messages of the first push
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_PUSH_STREAM_H_
