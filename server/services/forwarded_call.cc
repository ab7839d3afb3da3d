// SPDX-License-Identifier: Apache-2.0
#include "server/services/forwarded_call.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

// A broken connection is noticed a moment before the end of the process.
constexpr absl::Duration kLossNoticed = absl::Seconds(2);

absl::string_view View(const grpc::string_ref& text) {
  return {text.data(), text.size()};
}

std::string String(const grpc::string_ref& text) {
  return std::string(text.data(), text.size());
}

}  // namespace

ForwardedCall::ForwardedCall(grpc::CallbackServerContext* context,
                             const std::string& method,
                             std::shared_ptr<Session> session)
    : context_(*context),
      session_(std::move(session)),
      stub_(session_->executor_channel()),
      upstream_(*this) {
  PassMetadataOn();
  upstream_context_.set_deadline(context_.deadline());
  stub_.PrepareBidiStreamingCall(&upstream_context_, method, {}, &upstream_);
  upstream_.AddMultipleHolds(2);  // One a pump.
  upstream_.StartRead(&down_);
  upstream_.StartCall();
  StartRead(&up_);
}

// Only our own keys and trace context: the rest belongs to the connection.
void ForwardedCall::PassMetadataOn() {
  for (const auto& [key, value] : context_.client_metadata()) {
    if (absl::StartsWith(View(key), "holdfast-") ||
        absl::StartsWith(View(key), "trace")) {
      upstream_context_.AddMetadata(String(key), String(value));
    }
  }
}

void ForwardedCall::OnReadDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    if (!up_open_) return;  // The executor has ended the call.
    if (ok) return upstream_.StartWrite(&up_);
    upstream_.StartWritesDone();
  }
  CloseUp();
}

void ForwardedCall::Upstream::OnWriteDone(bool ok) {
  if (ok) {
    call_.StartRead(&call_.up_);
  } else {
    call_.CloseUp();
  }
}

void ForwardedCall::Upstream::OnReadDone(bool ok) {
  if (ok) return call_.StartWrite(&call_.down_);
  // No more messages, so the status is there or comes now, whatever the
  // client may still want to send.
  call_.CloseUp();
  call_.CloseDown();
}

void ForwardedCall::OnWriteDone(bool ok) {
  if (ok) return upstream_.StartRead(&down_);
  upstream_context_.TryCancel();  // The client is gone.
  CloseDown();
}

void ForwardedCall::CloseUp() {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(up_open_, false)) upstream_.RemoveHold();
}

void ForwardedCall::CloseDown() {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(down_open_, false)) upstream_.RemoveHold();
}

void ForwardedCall::Upstream::OnDone(const grpc::Status& status) {
  for (const auto& [key, value] :
       call_.upstream_context_.GetServerTrailingMetadata()) {
    // gRPC's own are made anew from the status.
    if (!absl::StartsWith(View(key), "grpc-")) {
      call_.context_.AddTrailingMetadata(String(key), String(value));
    }
  }
  call_.FinishWith(status);  // After which the call may not exist any more.
}

void ForwardedCall::FinishWith(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
      status.error_details().empty() && !context_.IsCancelled()) {
    // Not the executor's word, but that of a broken connection to it.
    const absl::Status lost = session_->AwaitLoss(absl::Now() + kLossNoticed);
    if (!lost.ok()) return Finish(ToGrpcStatus(lost));
  }
  Finish(status);
}

}  // namespace holdfast
