// SPDX-License-Identifier: Apache-2.0
#include "server/services/forwarded_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/metadata.h"
#include "server/services/upstream_end.h"

namespace holdfast {

ForwardedCall::ForwardedCall(grpc::CallbackServerContext* context,
                             const std::string& method,
                             std::shared_ptr<supervisor::Session> session,
                             StallGuard& stall_guard, CallThreads& threads)
    : context_(*context),
      session_(std::move(session)),
      stall_guard_(stall_guard),
      threads_(threads),
      stub_(session_->executor_channel()),
      upstream_(*this) {
  ForwardMetadata(context_, &upstream_context_);
  upstream_context_.set_deadline(context_.deadline());
  stub_.PrepareBidiStreamingCall(&upstream_context_, method, {}, &upstream_);
  upstream_.AddMultipleHolds(2);  // One a direction.
  absl::MutexLock lock(&mutex_);
  ReadDown();
  upstream_.StartCall();
  ReadUp();
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
  if (up_.writing) return;
  if (up_.waiting.empty()) {
    if (!up_.ended) return;
    upstream_.StartWritesDone();
    return Close(up_);
  }
  up_.writing = true;
  upstream_.StartWrite(&up_.waiting.front());
}

void ForwardedCall::WriteDown() {
  if (down_.writing) return;
  if (down_.waiting.empty()) {
    if (down_.ended) Close(down_);
    return;
  }
  down_.writing = true;
  watch_.emplace(stall_guard_, context_);
  StartWrite(&down_.waiting.front());
}

void ForwardedCall::Flow::Take(bool ok) {
  reading = false;
  if (!ok) {
    ended = true;
    return;
  }
  waiting.emplace_back().Swap(&incoming);
  waiting_bytes += CountedBytes(waiting.back());
}

size_t ForwardedCall::Flow::CountedBytes(const grpc::ByteBuffer& message) {
  return std::max(message.Length(), kLeastCounted);
}

void ForwardedCall::Flow::DropWritten() {
  writing = false;
  waiting_bytes -= CountedBytes(waiting.front());
  waiting.pop_front();
}

void ForwardedCall::OnReadDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  if (!up_.open) return;  // The executor has ended the call.
  up_.Take(ok);
  if (ok) ReadUp();
  WriteUp();
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
  call_.down_.Take(ok);
  if (ok) call_.ReadDown();
  call_.WriteDown();
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
  if (!std::exchange(flow.open, false)) return;
  upstream_.RemoveHold();
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
