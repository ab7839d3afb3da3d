// SPDX-License-Identifier: Apache-2.0
#include "server/services/forwarded_call.h"

#include <algorithm>
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
                             std::optional<RelayDirection> relayed,
                             StallGuard& stall_guard, CallThreads& threads,
                             CallThreads& copy_threads)
    : context_(*context),
      session_(std::move(session)),
      blocks_(relayed.has_value() ? session_->blocks() : nullptr),
      upload_(relayed == RelayDirection::kUpload && blocks_ != nullptr
                  ? std::make_unique<UploadRelay>(blocks_)
                  : nullptr),
      stall_guard_(stall_guard),
      threads_(threads),
      copy_threads_(copy_threads),
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
  if (blocks_ != nullptr) upstream_context_.AddMetadata(kRelayedKey.name, "1");
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
  if (!up_.waiting.front().relayed) return;  // Its copier comes again.
  up_.writing = true;
  upstream_.StartWrite(&up_.waiting.front().buffer);
}

void ForwardedCall::WriteDown() {
  if (down_.writing) return;
  if (down_.waiting.empty()) {
    if (down_.ended) Close(down_);
    return;
  }
  if (!RelayDown()) return;
  down_.writing = true;
  watch_.emplace(stall_guard_, context_);
  StartWrite(&down_.waiting.front().buffer);
}

void ForwardedCall::RelayUp() {
  while (!copying_) {
    Flow::Message* const next = up_.NextToRelay();
    if (next == nullptr) return;
    if (upload_ != nullptr) {
      if (next->bytes >= UploadRelay::kLeastBytes && StartCopying()) return;
      next->buffer = RelayWhole(next->buffer);
    }
    next->relayed = true;
  }
}

bool ForwardedCall::StartCopying() {
  copying_ = copy_threads_.Run(session_->client(), [this] { CopyUp(); }).ok();
  return copying_;
}

void ForwardedCall::CopyUp() {
  bool open = true;
  while (const auto message = NextToCopy(&open)) {
    grpc::ByteBuffer relayed = upload_->Relay(*message, up_closed_.get_token());
    absl::MutexLock lock(&mutex_);
    Flow::Message& next = *up_.NextToRelay();
    next.buffer.Swap(&relayed);
    next.relayed = true;
    if (up_.open) WriteUp();
  }
  if (!open) upstream_.RemoveHold();
}

std::optional<grpc::ByteBuffer> ForwardedCall::NextToCopy(bool* open) {
  absl::MutexLock lock(&mutex_);
  const Flow::Message* const next = up_.NextToRelay();
  if (up_.open && next != nullptr) return next->buffer;
  copying_ = false;
  *open = up_.open;
  return std::nullopt;
}

bool ForwardedCall::RelayDown() {
  if (blocks_ == nullptr || upload_ != nullptr) return true;
  grpc::ByteBuffer& next = down_.waiting.front().buffer;
  auto message = RelayDownload(blocks_, next);
  if (message.ok()) {
    next = *std::move(message);
    return true;
  }
  LogFor(session_->client(), LogLevel::kError, "session ", session_->id(),
         ": from its executor: ", message.status().message());
  upstream_context_.TryCancel();
  Close(down_);
  return false;
}

void ForwardedCall::Flow::Take(bool ok) {
  reading = false;
  if (!ok) {
    ended = true;
    return;
  }
  Message& message = waiting.emplace_back();
  message.buffer.Swap(&incoming);
  message.bytes = std::max(message.buffer.Length(), kLeastCounted);
  waiting_bytes += message.bytes;
}

ForwardedCall::Flow::Message* ForwardedCall::Flow::NextToRelay() {
  for (Message& message : waiting) {
    if (!message.relayed) return &message;
  }
  return nullptr;
}

void ForwardedCall::Flow::DropWritten() {
  writing = false;
  waiting_bytes -= waiting.front().bytes;
  waiting.pop_front();
}

void ForwardedCall::OnReadDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  if (!up_.open) return;  // The executor has ended the call.
  up_.Take(ok);
  if (ok) ReadUp();
  RelayUp();
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
  if (&flow == &up_) up_closed_.request_stop();
  if (&flow == &up_ && copying_) return;
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
