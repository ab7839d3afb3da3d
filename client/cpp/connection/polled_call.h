// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_POLLED_CALL_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_POLLED_CALL_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/connection/message_poller.h"
#include "core/base/spin.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/impl/codegen/proto_utils.h"  // how messages are parsed
#include "grpcpp/support/async_stream.h"

namespace holdfast {

// A bidirectional call that stays open. As grpc::ClientReaderWriter, but the
// process's MessagePoller waits for its messages: threads that use the call
// look for a moment, and sleep, without gRPC. Messages are read ahead by one,
// so that HasMessage is a load. A call goes as follows:
//
//   PolledCall<Request, Response> call(channel, "/pkg.Service/Do", context);
//   call.Write(request);
//   while (call.Read(&response)) { ... }
//   const grpc::Status status = call.Finish();
template <typename Request, typename Response>
class PolledCall {
 public:
  // kEnd comes behind all messages.
  enum class Taken { kMessage, kNothing, kEnd };

  // `context` must outlive the call. `method`: "/package.Service/Method".
  // Starts the call; does not wait.
  PolledCall(std::shared_ptr<grpc::ChannelInterface> channel,
             const std::string& method, grpc::ClientContext& context);
  // Cancels the call if it has not ended. Blocks until it has.
  ~PolledCall();
  PolledCall(const PolledCall&) = delete;
  PolledCall& operator=(const PolledCall&) = delete;

  // Blocks until the server has sent its initial metadata, or the call has
  // ended. Then the context has them.
  void AwaitInitialMetadata();

  // Blocks while the message before is on its way out. Returns false if the
  // call has ended. One thread at a time, WritesDone included.
  bool Write(const Request& message);
  // Nothing may be written afterwards.
  void WritesDone();

  // Has a message come that was not taken? Thread-safe, at the cost of a load.
  bool HasMessage() const { return has_message_; }
  // Has the call ended? Messages may be left. As HasMessage.
  bool HasEnded() const { return ended_; }
  // Blocks until a message has come or the call has ended, until `limit`. Looks
  // for a moment before it sleeps.
  void Await(absl::Duration limit = absl::InfiniteDuration());
  // As Await, without looking first: the poller has to wake this thread.
  void Sleep(absl::Duration limit);
  // Takes a message that has come, without waiting. One thread at a time.
  // *message is overwritten only if there was one.
  Taken Take(Response* message);
  // Blocks until a message has come; returns false if none will. As Take.
  bool Read(Response* message);

  // Returns the call's status. Blocks until the call has ended.
  grpc::Status Finish();

 private:
  // One thing that gRPC is asked to do, which the poller reports.
  class Operation final : public MessagePoller::Operation {
   public:
    Operation(PolledCall& call, void (PolledCall::*done)(bool))
        : call_(call), done_(done) {}
    void Done(bool ok) override { (call_.*done_)(ok); }

   private:
    PolledCall& call_;
    void (PolledCall::*const done_)(bool);
  };

  // The next four are called by the poller's thread; `ok` is gRPC's.
  void OnMetadata(bool ok);
  void OnWritten(bool ok);
  void OnRead(bool ok);
  void OnFinished(bool ok);
  // Takes the turn to write. Returns false if the call has ended.
  bool BeginWrite();

  grpc::ClientContext& context_;
  const std::shared_ptr<MessagePoller> poller_ = MessagePoller::Get();
  const std::unique_ptr<grpc::ClientAsyncReaderWriter<Request, Response>>
      stream_;
  Operation metadata_{*this, &PolledCall::OnMetadata};
  Operation write_{*this, &PolledCall::OnWritten};
  Operation read_{*this, &PolledCall::OnRead};
  Operation finish_{*this, &PolledCall::OnFinished};

  std::atomic<bool> has_message_{false};
  std::atomic<bool> writing_{true};  // also the call's beginning
  std::atomic<bool> ended_{false};
  Response message_;     // whose it is: has_message_
  grpc::Status status_;  // once finished_

  // Held to change what a thread may sleep for.
  absl::Mutex mutex_;
  bool has_metadata_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

template <typename Request, typename Response>
PolledCall<Request, Response>::PolledCall(
    std::shared_ptr<grpc::ChannelInterface> channel, const std::string& method,
    grpc::ClientContext& context)
    : context_(context),
      stream_(grpc::TemplatedGenericStub<Request, Response>(std::move(channel))
                  .PrepareCall(&context, method, poller_->queue())) {
  stream_->StartCall(&write_);
  stream_->ReadInitialMetadata(&metadata_);
}

template <typename Request, typename Response>
PolledCall<Request, Response>::~PolledCall() {
  if (!ended_) context_.TryCancel();
  // A message that nobody has taken holds up the end.
  for (Response none; Read(&none);) {
  }
  const auto unused = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return finished_ && has_metadata_ && !writing_;
  };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&unused));
}

template <typename Request, typename Response>
void PolledCall<Request, Response>::AwaitInitialMetadata() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&has_metadata_));
}

template <typename Request, typename Response>
void PolledCall<Request, Response>::OnMetadata(bool) {
  stream_->Read(&message_, &read_);
  absl::MutexLock lock(&mutex_);
  has_metadata_ = true;
}

template <typename Request, typename Response>
bool PolledCall<Request, Response>::BeginWrite() {
  if (!SpinUntil([this] { return !writing_; })) {
    const auto written = [this] { return !writing_; };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&written));
  }
  if (ended_) return false;
  writing_ = true;
  return true;
}

template <typename Request, typename Response>
bool PolledCall<Request, Response>::Write(const Request& message) {
  if (!BeginWrite()) return false;
  stream_->Write(message, &write_);
  return true;
}

template <typename Request, typename Response>
void PolledCall<Request, Response>::WritesDone() {
  if (BeginWrite()) stream_->WritesDone(&write_);
}

// A write that has failed is followed by the call's end.
template <typename Request, typename Response>
void PolledCall<Request, Response>::OnWritten(bool) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
}

template <typename Request, typename Response>
void PolledCall<Request, Response>::OnRead(bool ok) {
  if (!ok) stream_->Finish(&status_, &finish_);
  absl::MutexLock lock(&mutex_);
  (ok ? has_message_ : ended_) = true;
}

template <typename Request, typename Response>
void PolledCall<Request, Response>::Await(absl::Duration limit) {
  if (SpinThenSleep([this] { return has_message_ || ended_; })) return;
  Sleep(limit);
}

template <typename Request, typename Response>
void PolledCall<Request, Response>::Sleep(absl::Duration limit) {
  const auto ready = [this] { return has_message_ || ended_; };
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&ready), limit);
}

template <typename Request, typename Response>
typename PolledCall<Request, Response>::Taken
PolledCall<Request, Response>::Take(Response* message) {
  // The end comes behind all messages.
  const bool ended = ended_;
  if (!has_message_) return ended ? Taken::kEnd : Taken::kNothing;
  *message = std::exchange(message_, Response());
  has_message_ = false;
  stream_->Read(&message_, &read_);
  return Taken::kMessage;
}

template <typename Request, typename Response>
bool PolledCall<Request, Response>::Read(Response* message) {
  for (;;) {
    Await();
    const Taken taken = Take(message);
    if (taken != Taken::kNothing) return taken == Taken::kMessage;
  }
}

template <typename Request, typename Response>
void PolledCall<Request, Response>::OnFinished(bool) {
  absl::MutexLock lock(&mutex_);
  finished_ = true;
}

template <typename Request, typename Response>
grpc::Status PolledCall<Request, Response>::Finish() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&finished_));
  return status_;
}

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_POLLED_CALL_H_
