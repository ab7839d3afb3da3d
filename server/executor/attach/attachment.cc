// SPDX-License-Identifier: Apache-2.0
#include "server/executor/attach/attachment.h"

#include <utility>

#include "core/base/start_thread.h"
#include "core/base/status_macros.h"

namespace holdfast::executor {

Attachment::Attachment() : results_(std::make_shared<ResultQueue>()) {
  results_->SendDirectly(
      [this](const v1::ResultBatch& batch) { return SendNow(batch); });
}

Attachment::~Attachment() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  results_->SendDirectly(nullptr);
  results_->Abandon();
  if (taker_.joinable()) taker_.join();
}

void Attachment::TakeResults() {
  for (v1::ResultBatch batch; results_->Take(&batch);) Keep(batch);
}

void Attachment::Keep(const v1::ResultBatch& batch) {
  KeptResults::Batch kept(batch);
  absl::MutexLock lock(&mutex_);
  const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || HasRoom();
  };
  mutex_.Await(absl::Condition(&room));
  kept_.Add(std::move(kept));
}

bool Attachment::SendNow(const v1::ResultBatch& batch) {
  absl::MutexLock lock(&mutex_);
  if (send_now_ == nullptr || sending_ || arrived_.has_value() ||
      !kept_.all_sent() || !send_now_(batch)) {
    return false;
  }
  kept_.AddSent(KeptResults::Batch(batch));
  return true;
}

void Attachment::SendDirectly(uint64_t call, ResultQueue::SendNow send) {
  absl::MutexLock lock(&mutex_);
  if (call == call_) send_now_ = std::move(send);
}

absl::StatusOr<uint64_t> Attachment::Begin(grpc::ServerContextBase& context,
                                           uint64_t results_read) {
  absl::MutexLock lock(&mutex_);
  if (!taker_.joinable()) {
    HOLDFAST_ASSIGN_OR_RETURN(taker_, StartThread("the session's results",
                                                  [this] { TakeResults(); }));
  }
  HOLDFAST_RETURN_IF_ERROR(kept_.ContinueAfter(results_read));
  if (context_ != nullptr) context_->TryCancel();
  send_now_ = nullptr;
  sending_ = false;
  context_ = &context;
  arrived_.reset();
  return ++call_;
}

void Attachment::Cancel(uint64_t call) {
  absl::MutexLock lock(&mutex_);
  Drop(call);
}

void Attachment::End(uint64_t call) {
  absl::MutexLock lock(&mutex_);
  Drop(call);
  if (call == reading_) reading_ = 0;
}

void Attachment::Drop(uint64_t call) {
  if (call != call_) return;
  context_ = nullptr;
  send_now_ = nullptr;
}

bool Attachment::IsOver(uint64_t call) const {
  return stopping_ || call != call_ || context_ == nullptr;
}

bool Attachment::AwaitInCall(uint64_t call,
                             bool (Attachment::*condition)() const) {
  const auto due = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return IsOver(call) || (this->*condition)();
  };
  mutex_.Await(absl::Condition(&due));
  return !IsOver(call);
}

bool Attachment::AwaitTurn(uint64_t call) {
  absl::MutexLock lock(&mutex_);
  if (!AwaitInCall(call, &Attachment::NobodyReads)) return false;
  reading_ = call;
  return true;
}

bool Attachment::AwaitRoom(uint64_t call) {
  absl::MutexLock lock(&mutex_);
  return AwaitInCall(call, &Attachment::HasRoom);
}

void Attachment::Acknowledge(uint64_t call, uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  if (call != call_) return;
  arrived_ = sequence;
}

bool Attachment::Next(uint64_t call, v1::ResultBatch* batch) {
  batch->Clear();
  absl::MutexLock lock(&mutex_);
  if (call == call_) sending_ = false;
  const auto due = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return IsOver(call) || arrived_.has_value() || !kept_.all_sent();
  };
  mutex_.Await(absl::Condition(&due));
  if (IsOver(call)) return false;
  if (!kept_.all_sent()) kept_.TakeNext(batch);
  if (const auto arrived = std::exchange(arrived_, std::nullopt)) {
    batch->add_results()->set_sequence(*arrived);
  }
  sending_ = true;
  return true;
}

}  // namespace holdfast::executor
