// SPDX-License-Identifier: Apache-2.0
#include "server/relay/transfer_pipes.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "core/base/wake_on_stop.h"
#include "proto/metadata.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

absl::Status SessionCloses() {
  return absl::UnavailableError("the session is being closed");
}

}  // namespace

absl::StatusOr<std::shared_ptr<TransferPipes::Lease>> TransferPipes::Take() {
  {
    absl::MutexLock lock(&mutex_);
    if (leases_ == kMaxLeases) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "more than ", kMaxLeases, " transfers of one session at a time"));
    }
    ++leases_;
  }
  return std::make_shared<Lease>(shared_from_this());
}

absl::Status TransferPipes::Lease::Open(const std::stop_token& cancelled,
                                        absl::Time deadline) {
  HOLDFAST_RETURN_IF_ERROR(pipes_->AwaitTurn(*this, cancelled, deadline));
  in_use_ = true;
  HOLDFAST_ASSIGN_OR_RETURN(pipe_, pipes_->Open());
  return absl::OkStatus();
}

absl::Status TransferPipes::AwaitTurn(const Lease& lease,
                                      const std::stop_token& cancelled,
                                      absl::Time deadline) {
  const WakeOnStop wake(cancelled, mutex_);
  absl::MutexLock lock(&mutex_);
  const auto place = waiting_.insert(waiting_.end(), &lease);
  const auto due = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return closed_ || cancelled.stop_requested() ||
           (waiting_.front() == &lease && in_use_ < TransferPipe::kMaxPipes);
  };
  const bool came = mutex_.AwaitWithDeadline(absl::Condition(&due), deadline);
  waiting_.erase(place);
  if (closed_) return SessionCloses();
  if (cancelled.stop_requested()) return absl::CancelledError("given up");
  if (came) {
    ++in_use_;
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError(
      absl::StrCat("the transfer has waited for a pipe until its deadline: "
                   "other transfers use ",
                   in_use_, " of the session's ", TransferPipe::kMaxPipes));
}

absl::StatusOr<TransferPipes::Pipe> TransferPipes::Open() {
  {
    absl::MutexLock lock(&mutex_);
    while (!resting_.empty()) {
      Pipe pipe = std::move(resting_.back());
      resting_.pop_back();
      if (!pipe.call->ended()) return pipe;
    }
    if (closed_) return SessionCloses();
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

void TransferPipes::GiveBack(Pipe pipe, bool in_use, bool reusable) {
  {
    absl::MutexLock lock(&mutex_);
    --leases_;
    if (in_use) --in_use_;
    if (pipe.call == nullptr) return;
    if (reusable && !closed_) return resting_.push_back(std::move(pipe));
  }
  pipe.call->Cancel();
}

size_t TransferPipes::waiting() const {
  absl::MutexLock lock(&mutex_);
  return waiting_.size();
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
