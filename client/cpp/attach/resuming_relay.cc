// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/attach/resuming_relay.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/connection/polled_call.h"
#include "client/cpp/connection/rpc_status.h"
#include "core/base/error_detail.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "proto/metadata.h"

namespace holdfast {
namespace {

// Batches that are kept; beyond it no more are taken from the queue until some
// have arrived.
constexpr size_t kMaxUnacknowledged = size_t{8} << 20;

constexpr absl::Duration kFirstPause = absl::Milliseconds(10);
constexpr absl::Duration kLongestPause = absl::Seconds(1);
constexpr absl::Duration kAttachTimeout = absl::Seconds(10);

// Arrivals and the end wake a reader of the ring. It also polls, in case that a
// wake-up is lost.
constexpr absl::Duration kLookAnyway = absl::Milliseconds(200);

// The connection broke, or the daemon cannot serve just now: not the session's
// end, nor a mistake. RESOURCE_EXHAUSTED: the session has as many calls as it
// may have, broken ones whose end the daemon has not noticed yet.
bool MayPass(const grpc::Status& grpc_status) {
  const absl::Status status = ToStatus(grpc_status);
  if (const auto detail = GetErrorDetail(status);
      detail.has_value() && detail->session_lost) {
    return false;
  }
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsCancelled(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsInternal(status) || absl::IsUnknown(status);
}

// The details of a call's status; empty if it has none.
v1::Error ToError(const grpc::Status& status) {
  v1::Error error;
  if (error.ParseFromString(status.error_details()) && error.code() != 0) {
    return error;
  }
  error.Clear();
  error.set_code(status.error_code());
  error.set_message(status.error_message());
  return error;
}

grpc::Status Unavailable(const std::string& message) {
  return {grpc::StatusCode::UNAVAILABLE, message};
}

bool IsAcknowledgement(const v1::Result& result) {
  return result.outcome_case() == v1::Result::OUTCOME_NOT_SET;
}

}  // namespace

// One Execute call.
class ResumingRelay::Call {
 public:
  Call(std::shared_ptr<MessagePoller> poller,
       std::shared_ptr<grpc::Channel> channel, const std::string& token,
       uint64_t results_read) {
    context_.AddMetadata(kSessionTokenKey.name, token);
    context_.AddMetadata(kResultsReadKey.name, absl::StrCat(results_read));
    call_.emplace(std::move(poller), std::move(channel),
                  "/holdfast.v1.CommandService/Execute", context_);
  }

  bool Write(absl::string_view bytes) {
    const grpc::Slice slice(bytes.data(), bytes.size());
    return call_->Write(grpc::ByteBuffer(&slice, 1));
  }
  bool Read(v1::ResultBatch* batch) { return call_->Read(batch); }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish() { return call_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::optional<PolledCall<grpc::ByteBuffer, v1::ResultBatch>> call_;
};

absl::StatusOr<std::unique_ptr<ResumingRelay>> ResumingRelay::Start(
    Options options, std::unique_ptr<RingPair> rings,
    std::shared_ptr<grpc::Channel> channel) {
  HOLDFAST_ASSIGN_OR_RETURN(auto poller, MessagePoller::Get());
  std::unique_ptr<ResumingRelay> relay(new ResumingRelay(
      std::move(options), std::move(rings), std::move(poller)));
  relay->Begin(std::move(channel));
  HOLDFAST_RETURN_IF_ERROR(relay->StartThreads());
  return relay;
}

ResumingRelay::ResumingRelay(Options options, std::unique_ptr<RingPair> rings,
                             std::shared_ptr<MessagePoller> poller)
    : options_(std::move(options)),
      rings_(std::move(rings)),
      poller_(std::move(poller)) {}

absl::Status ResumingRelay::StartThreads() {
  HOLDFAST_ASSIGN_OR_RETURN(sender_, StartThread("the commands of a session",
                                                 [this] { SendCommands(); }));
  HOLDFAST_ASSIGN_OR_RETURN(
      receiver_,
      StartThread("the results of a session", [this] { ReceiveResults(); }));
  return absl::OkStatus();
}

ResumingRelay::~ResumingRelay() { Stop(); }

std::deque<Unacknowledged::Batch> ResumingRelay::Stop() {
  closing_ = true;
  rings_->Close();
  {
    absl::MutexLock lock(&mutex_);
    if (call_ != nullptr) call_->Cancel();
  }
  if (sender_.joinable()) sender_.join();
  if (receiver_.joinable()) receiver_.join();
  absl::MutexLock lock(&mutex_);
  return unacknowledged_.batches();
}

void ResumingRelay::SendCommands() {
  while (!closing_) {
    const auto message = rings_->reader().Read();
    if (!message.ok()) {
      return GiveUp({grpc::StatusCode::INTERNAL,
                     std::string(message.status().message())});
    }
    if (message->has_value()) {
      Send(**message);
    } else {
      rings_->reader().Await(kLookAnyway);
    }
  }
}

// Without send_mutex_, which the receiver needs to make room.
void ResumingRelay::AwaitRoom() {
  absl::MutexLock lock(&mutex_);
  const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return closing_ || given_up_ ||
           unacknowledged_.bytes() < kMaxUnacknowledged;
  };
  mutex_.Await(absl::Condition(&room));
}

void ResumingRelay::Send(absl::string_view batch) {
  AwaitRoom();
  absl::MutexLock send_lock(&send_mutex_);
  std::shared_ptr<Call> call;
  {
    absl::MutexLock lock(&mutex_);
    // After GiveUp it is only taken, so that the queue can write: see Stop.
    unacknowledged_.Add(batch);
    if (closing_ || given_up_) return;
    if (in_order_) call = call_;
  }
  // Where it fails, the batch is sent again on the next call.
  if (call != nullptr) call->Write(batch);
}

void ResumingRelay::ReceiveResults() {
  std::shared_ptr<Call> call;
  {
    absl::MutexLock lock(&mutex_);
    call = call_;
  }
  // Since when calls have ended without an answer.
  absl::Time unanswered = absl::InfiniteFuture();
  absl::Duration pause = absl::ZeroDuration();
  while (true) {
    bool answered = false;
    const grpc::Status ended = Serve(call, &answered);
    if (closing_) return;
    if (!MayPass(ended)) return GiveUp(ended);
    // A daemon that answers no call is asked less and less often, and not for
    // ever.
    const absl::Time now = SteadyNow();
    unanswered = answered ? absl::InfiniteFuture() : std::min(unanswered, now);
    if (now - unanswered > options_.grace) {
      return GiveUp(Unavailable(absl::StrCat(
          "its connection was made again, but no call was answered within ",
          absl::FormatDuration(options_.grace), ": ", ended.error_message())));
    }
    if (answered) pause = absl::ZeroDuration();
    Pause(pause);
    if (!answered) pause = std::clamp(pause * 2, kFirstPause, kLongestPause);
    std::shared_ptr<grpc::Channel> channel;
    const grpc::Status attached = Reattach(&channel);
    if (closing_) return;
    if (!attached.ok()) return GiveUp(attached);
    call = Begin(std::move(channel));
  }
}

grpc::Status ResumingRelay::Serve(const std::shared_ptr<Call>& call,
                                  bool* answered) {
  while (true) {
    v1::ResultBatch batch;
    if (!call->Read(&batch)) break;
    *answered = true;
    Deliver(std::move(batch), call);
  }
  {
    absl::MutexLock lock(&mutex_);
    in_order_ = false;
  }
  // A write that is under way fails now that the call has ended.
  absl::MutexLock send_lock(&send_mutex_);
  const grpc::Status status = call->Finish();
  return status.ok() ? Unavailable("the call has ended") : status;
}

void ResumingRelay::Deliver(v1::ResultBatch batch,
                            const std::shared_ptr<Call>& call) {
  std::optional<uint64_t> arrived;
  v1::ResultBatch results;
  for (v1::Result& result : *batch.mutable_results()) {
    if (IsAcknowledgement(result)) {
      arrived = result.sequence();
    } else {
      results.add_results()->Swap(&result);
    }
  }
  if (results.results_size() > 0) {
    results_read_ += static_cast<uint64_t>(results.results_size());
    // Fails when the session is closed here.
    rings_->writer().Write(results.SerializeAsString()).IgnoreError();
  }
  if (arrived.has_value()) Acknowledge(*arrived, call);
}

void ResumingRelay::Acknowledge(uint64_t sequence,
                                const std::shared_ptr<Call>& call) {
  {
    absl::MutexLock lock(&mutex_);
    unacknowledged_.Acknowledge(sequence);
    if (in_order_) return;
  }
  absl::MutexLock send_lock(&send_mutex_);
  Resend(call);
}

// Holds send_mutex_ all the while, so nothing is added behind what it sends.
void ResumingRelay::Resend(const std::shared_ptr<Call>& call) {
  std::deque<Unacknowledged::Batch> batches;
  {
    absl::MutexLock lock(&mutex_);
    batches = unacknowledged_.batches();
    in_order_ = true;
  }
  for (const auto& batch : batches) {
    if (!call->Write(batch.bytes)) return;
  }
}

grpc::Status ResumingRelay::Reattach(std::shared_ptr<grpc::Channel>* channel) {
  const absl::Time deadline = SteadyNow() + options_.grace;
  absl::Duration pause = kFirstPause;
  while (true) {
    const grpc::Status attached = TryReattach(channel);
    if (closing_ || attached.ok() || !MayPass(attached)) return attached;
    if (SteadyNow() + pause > deadline) {
      return Unavailable(absl::StrCat(
          "its connection broke and could not be made again within ",
          absl::FormatDuration(options_.grace), ": ",
          attached.error_message()));
    }
    Pause(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

void ResumingRelay::Pause(absl::Duration pause) {
  absl::MutexLock lock(&mutex_);
  const auto over = [this] { return closing_.load(); };
  mutex_.AwaitWithTimeout(absl::Condition(&over), pause);
}

grpc::Status ResumingRelay::TryReattach(
    std::shared_ptr<grpc::Channel>* channel) {
  auto connected = options_.connect();
  if (!connected.ok()) {
    return Unavailable(std::string(connected.status().message()));
  }
  *channel = *std::move(connected);
  grpc::ClientContext context;
  context.AddMetadata(kSessionTokenKey.name, options_.session_token);
  context.set_deadline(absl::ToChronoTime(absl::Now() + kAttachTimeout));
  v1::AttachSessionRequest request;
  request.set_results_read_through(results_read_);
  v1::AttachSessionResponse response;
  return v1::SessionService::NewStub(*channel)->AttachSession(&context, request,
                                                              &response);
}

std::shared_ptr<ResumingRelay::Call> ResumingRelay::Begin(
    std::shared_ptr<grpc::Channel> channel) {
  auto call = std::make_shared<Call>(poller_, std::move(channel),
                                     options_.session_token, results_read_);
  absl::MutexLock lock(&mutex_);
  if (closing_) call->Cancel();
  call_ = call;
  return call;
}

// Commands are still taken from the queue, and dropped, so that it never waits.
void ResumingRelay::GiveUp(const grpc::Status& reason) {
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(given_up_, true) || closing_) return;
  }
  v1::ResultBatch batch;
  *batch.add_results()->mutable_error() = ToError(reason);
  rings_->writer().Write(batch.SerializeAsString()).IgnoreError();
}

}  // namespace holdfast
