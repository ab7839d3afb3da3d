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

// A long-lived bidirectional call. Like grpc::ClientReaderWriter, but the
// process's MessagePoller waits for its messages: threads that use the call
// poll and sleep without gRPC. One message is read ahead, so that HasMessage is
// a load. Use:
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto poller, MessagePoller::Get());
//   PolledCall<Request, Response> call(std::move(poller), channel,
//                                      "/pkg.Service/Do", context);
//   call.Write(request);
//   while (call.Read(&response)) { ... }
//   const grpc::Status status = call.Finish();
template <typename Request, typename Response>
class PolledCall {
 public:
  // kEnd follows all messages.
  enum class Taken { kMessage, kNothing, kEnd };

  // `context` must outlive the call. `method`: "/package.Service/Method".
  // Starts the call; does not wait.
  PolledCall(std::shared_ptr<MessagePoller> poller,
             std::shared_ptr<grpc::ChannelInterface> channel,
             const std::string& method, grpc::ClientContext& context);
  // Cancels the call if it has not ended. Blocks until the call has ended.
  ~PolledCall();
  PolledCall(const PolledCall&) = delete;
  PolledCall& operator=(const PolledCall&) = delete;

  // Blocks until the server has sent its initial metadata, or the call has
  // ended. Afterwards the context has the metadata.
  void AwaitInitialMetadata();

  // Blocks while the last message is being sent, and then starts to send
  // `message`. Returns false if the call has ended. REQUIRES: one thread at a
  // time, also for WritesDone.
  bool Write(const Request& message);
  // Reports to the server that no more messages follow. REQUIRES: Write is not
  // called any more.
  void WritesDone();

  // Returns true if a message was not taken yet. Costs a load. Thread-safe.
  bool HasMessage() const { return has_message_; }
  // Returns true if the call has ended. Messages may be left to take. Costs a
  // load. Thread-safe.
  bool HasEnded() const { return ended_; }
  // Blocks until a message has arrived or the call has ended, for at most
  // `limit`. Polls for a moment before it sleeps.
  void Await(absl::Duration limit = absl::InfiniteDuration());
  // Waits as Await does, but without polling: the poller must wake this thread.
  void Sleep(absl::Duration limit);
  // Takes an arrived message, without waiting. Overwrites *message only if
  // there is one. REQUIRES: one thread at a time.
  Taken Take(Response* message);
  // Blocks until a message has arrived, and takes it. Returns false if the call
  // has ended and all messages were taken. REQUIRES: one thread at a time, also
  // for Take.
  bool Read(Response* message);

  // Returns the call's status. Blocks until the call has ended.
  grpc::Status Finish();

 private:
  // One operation of gRPC, whose end the poller reports.
  class Operation final : public MessagePoller::Operation {
   public:
    Operation(PolledCall& call, void (PolledCall::*done)(bool))
        : call_(call), done_(done) {}
    void Done(bool ok) override { (call_.*done_)(ok); }

   private:
    PolledCall& call_;
    void (PolledCall::*const done_)(bool);
  };

  // The poller's thread calls these methods; `ok` comes from gRPC.
  void OnMetadata(bool ok);
  void OnWritten(bool ok);
  void OnRead(bool ok);
  void OnFinished(bool ok);
  // Takes the turn to write. Returns false if the call has ended.
  bool BeginWrite();

  grpc::ClientContext& context_;
  const std::shared_ptr<MessagePoller> poller_;
  const std::unique_ptr<grpc::ClientAsyncReaderWriter<Request, Response>>
      stream_;
  Operation metadata_{*this, &PolledCall::OnMetadata};
  Operation write_{*this, &PolledCall::OnWritten};
  Operation read_{*this, &PolledCall::OnRead};
  Operation finish_{*this, &PolledCall::OnFinished};

  std::atomic<bool> has_message_{false};
  std::atomic<bool> writing_{true};  // also the call's beginning
  std::atomic<bool> ended_{false};
  Response message_;     // the poller's while !has_message_, else the reader's
  grpc::Status status_;  // once finished_

  // Held to change the conditions that threads sleep for.
  absl::Mutex mutex_;
  bool has_metadata_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

template <typename Request, typename Response>
PolledCall<Request, Response>::PolledCall(
    std::shared_ptr<MessagePoller> poller,
    std::shared_ptr<grpc::ChannelInterface> channel, const std::string& method,
    grpc::ClientContext& context)
    : context_(context),
      poller_(std::move(poller)),
      stream_(grpc::TemplatedGenericStub<Request, Response>(std::move(channel))
                  .PrepareCall(&context, method, poller_->queue())) {
  stream_->StartCall(&write_);
  stream_->ReadInitialMetadata(&metadata_);
}

template <typename Request, typename Response>
PolledCall<Request, Response>::~PolledCall() {
  if (!ended_) context_.TryCancel();
  // Takes the remaining messages, because the end follows them.
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
  // The end follows all messages.
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
