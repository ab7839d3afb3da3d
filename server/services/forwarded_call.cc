// SPDX-License-Identifier: Apache-2.0
#include "server/services/forwarded_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "server/relay/relayed_message.h"
#include "server/rpc/metadata.h"
#include "server/services/upstream_end.h"

namespace holdfast {

ForwardedCall::ForwardedCall(grpc::CallbackServerContext* context,
                             const std::string& method,
                             std::shared_ptr<supervisor::Session> session,
                             std::shared_ptr<grpc::Channel> executor,
                             std::unique_ptr<TransferRelay> relay,
                             StallGuard& stall_guard, CallThreads& threads)
    : context_(*context),
      session_(std::move(session)),
      relay_(std::move(relay)),
      stall_guard_(stall_guard),
      threads_(threads),
      stub_(std::move(executor)),
      upstream_(*this) {
  PassMetadataOn();
  upstream_context_.set_deadline(context_.deadline());
  stub_.PrepareBidiStreamingCall(&upstream_context_, method, {}, &upstream_);
  upstream_.AddMultipleHolds(2);  // One a direction.
  absl::MutexLock lock(&mutex_);
  ReadDown();
  upstream_.StartCall();
  ReadUp();
}

void ForwardedCall::PassMetadataOn() {
  ForwardMetadata(context_, &upstream_context_);
  if (relay_ != nullptr) upstream_context_.AddMetadata(kRelayedKey.name, "1");
}

void ForwardedCall::ReadUp() {
  if (!up_.MayRead()) return;
  up_.reading = true;
  StartRead(&up_.incoming);
}

void ForwardedCall::ReadDown() {
  if (!down_.MayRead()) return;
  down_.reading = true;
  upstream_.StartRead(&down_.incoming);
}

void ForwardedCall::WriteUp() {
  if (!up_.waiting.empty()) {
    if (relay_ != nullptr) up_.Next() = relay_->Up(up_.Next());
    return upstream_.StartWrite(&up_.Next());
  }
  if (!up_.ended) return;
  upstream_.StartWritesDone();
  Close(up_);
}

void ForwardedCall::WriteDown() {
  if (down_.waiting.empty()) {
    if (down_.ended) Close(down_);
    return;
  }
  if (relay_ != nullptr && !RelayDown()) return;
  watch_.emplace(stall_guard_, context_);
  StartWrite(&down_.Next());
}

// False: the executor's message is none, and the call is given up.
bool ForwardedCall::RelayDown() {
  auto message = relay_->Down(down_.Next());
  if (message.ok()) {
    down_.Next() = *std::move(message);
    return true;
  }
  LogFor(session_->client(), LogLevel::kError, "session ", session_->id(),
         ": from its executor: ", message.status().message());
  upstream_context_.TryCancel();
  Close(down_);
  return false;
}

// Takes in a message that was read. Returns whether it can be written at once.
bool ForwardedCall::Flow::Take(bool ok) {
  const bool idle = waiting.empty();
  reading = false;
  if (ok) {
    const size_t bytes = incoming.Length();
    waiting_bytes += bytes;
    waiting.emplace_back().buffer.Swap(&incoming);
    waiting.back().bytes = bytes;
  } else {
    ended = true;
  }
  return idle;
}

void ForwardedCall::Flow::DropWritten() {
  waiting_bytes -= waiting.front().bytes;
  waiting.pop_front();
}

void ForwardedCall::OnReadDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  if (!up_.open) return;  // The executor has ended the call.
  const bool idle = up_.Take(ok);
  if (ok) ReadUp();  // First: bytes come in while these are copied.
  if (idle) WriteUp();
}

void ForwardedCall::Upstream::OnWriteDone(bool ok) {
  absl::MutexLock lock(&call_.mutex_);
  call_.up_.DropWritten();
  if (!call_.up_.open) return;
  if (!ok) return call_.Close(call_.up_);
  call_.WriteUp();
  call_.ReadUp();
}

void ForwardedCall::Upstream::OnReadDone(bool ok) {
  absl::MutexLock lock(&call_.mutex_);
  // No more messages: the status is there or comes now, whatever the client may
  // still want to send.
  if (!ok) call_.Close(call_.up_);
  if (!call_.down_.open) return;
  const bool idle = call_.down_.Take(ok);
  if (ok) call_.ReadDown();
  if (idle) call_.WriteDown();
}

void ForwardedCall::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  watch_.reset();
  down_.DropWritten();
  if (!ok) {  // The client is gone.
    upstream_context_.TryCancel();
    return Close(down_);
  }
  WriteDown();
  ReadDown();
}

void ForwardedCall::Close(Flow& flow) {
  if (std::exchange(flow.open, false)) upstream_.RemoveHold();
}

void ForwardedCall::Upstream::OnDone(const grpc::Status& status) {
  PassTrailersOn(call_.upstream_context_, call_.context_);
  call_.FinishWith(status);  // After which the call may not exist any more.
}

void ForwardedCall::FinishWith(const grpc::Status& status) {
  if (!IsBrokenConnection(status) || context_.IsCancelled()) {
    return Finish(status);
  }
  // A thread of gRPC's must not wait for the reason.
  const absl::Status waiting = threads_.Run(
      absl::StrCat("session ", session_->id()),
      [this, status] { Finish(ExplainBroken(*session_, status)); });
  if (!waiting.ok()) Finish(status);
}

}  // namespace holdfast
