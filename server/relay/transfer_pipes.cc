// SPDX-License-Identifier: Apache-2.0
#include "server/relay/transfer_pipes.h"

#include "absl/strings/escaping.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "proto/metadata.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {

std::shared_ptr<TransferPipes::Lease> TransferPipes::TryTake() {
  {
    absl::MutexLock lock(&mutex_);
    if (in_use_ == TransferPipe::kMaxPipes) return nullptr;
    ++in_use_;
  }
  return std::make_shared<Lease>(shared_from_this());
}

absl::Status TransferPipes::Lease::Open() {
  HOLDFAST_ASSIGN_OR_RETURN(pipe_, pipes_->Open());
  return absl::OkStatus();
}

absl::StatusOr<TransferPipes::Pipe> TransferPipes::Open() {
  {
    absl::MutexLock lock(&mutex_);
    while (!resting_.empty()) {
      Pipe pipe = std::move(resting_.back());
      resting_.pop_back();
      if (!pipe.call->ended()) return pipe;
    }
    if (closed_) return absl::UnavailableError("the session is being closed");
  }
  return Make();
}

absl::StatusOr<TransferPipes::Pipe> TransferPipes::Make() {
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd memory,
                            TransferPipe::CreateMemory());
  HOLDFAST_ASSIGN_OR_RETURN(
      std::shared_ptr<TransferPipe> daemons_end,
      TransferPipe::Map(memory.get(), TransferPipe::End::kDaemon));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string token,
                            executor_.send_fd(memory.get()));
  const auto call = std::make_shared<RingCall>(executor_.channel);
  call->context().AddMetadata(kSessionTokenKey.name, executor_.session_token);
  call->Start(TransferPipe::kMethod, absl::BytesToHexString(token),
              [daemons_end] { daemons_end->Close(); });
  if (call->AwaitTaken()) return Pipe{std::move(daemons_end), call};
  call->EndUp();
  return FromGrpcStatus(call->AwaitEnd());
}

void TransferPipes::GiveBack(Pipe pipe, bool reusable) {
  {
    absl::MutexLock lock(&mutex_);
    --in_use_;
    if (pipe.call == nullptr) return;
    if (reusable && !closed_) return resting_.push_back(std::move(pipe));
  }
  pipe.call->Cancel();
}

void TransferPipes::Close() {
  std::vector<Pipe> resting;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    resting.swap(resting_);
  }
  for (const Pipe& pipe : resting) pipe.call->Cancel();
}

}  // namespace holdfast
