// SPDX-License-Identifier: Apache-2.0
#include "server/executor/attach/attachment.h"

#include <utility>

#include "absl/strings/str_cat.h"
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
  Entry entry;
  entry.count = static_cast<uint64_t>(batch.results_size());
  entry.bytes = batch.SerializeAsString();
  absl::MutexLock lock(&mutex_);
  const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || HasRoom();
  };
  mutex_.Await(absl::Condition(&room));
  unsent_bytes_ += entry.bytes.size();
  Append(std::move(entry));
}

void Attachment::Append(Entry entry) {
  entry.first = total_;
  total_ += entry.count;
  kept_.push_back(std::move(entry));
}

bool Attachment::SendNow(const v1::ResultBatch& batch) {
  absl::MutexLock lock(&mutex_);
  if (send_now_ == nullptr || sending_ || tell_arrived_ ||
      next_ != kept_.size() || !send_now_(batch)) {
    return false;
  }
  Entry entry;
  entry.count = static_cast<uint64_t>(batch.results_size());
  entry.bytes = batch.SerializeAsString();
  sent_bytes_ += entry.bytes.size();
  Append(std::move(entry));
  ++next_;
  DropOldest();
  return true;
}

void Attachment::SendDirectly(uint64_t call, ResultQueue::SendNow send) {
  absl::MutexLock lock(&mutex_);
  if (call == call_) send_now_ = std::move(send);
}

absl::StatusOr<uint64_t> Attachment::Begin(grpc::ServerContextBase& context,
                                           uint64_t results_read) {
  absl::MutexLock lock(&mutex_);
  const uint64_t oldest = kept_.empty() ? total_ : kept_.front().first;
  if (results_read > total_ || results_read < oldest) {
    return absl::OutOfRangeError(
        absl::StrCat("the client has read ", results_read, " results of ",
                     total_, "; those behind ", oldest, " are kept"));
  }
  if (!taker_.joinable()) {
    HOLDFAST_ASSIGN_OR_RETURN(taker_, StartThread("the session's results",
                                                  [this] { TakeResults(); }));
  }
  if (context_ != nullptr) context_->TryCancel();
  send_now_ = nullptr;
  sending_ = false;
  SetNext(results_read);
  context_ = &context;
  tell_arrived_ = false;
  return ++call_;
}

// An entry of which the client has the first results is sent without them.
void Attachment::SetNext(uint64_t results_read) {
  next_ = 0;
  skip_ = 0;
  sent_bytes_ = 0;
  unsent_bytes_ = 0;
  for (const Entry& entry : kept_) {
    if (entry.first + entry.count <= results_read) {
      ++next_;
      sent_bytes_ += entry.bytes.size();
      continue;
    }
    if (entry.first < results_read) skip_ = results_read - entry.first;
    unsent_bytes_ += entry.bytes.size();
  }
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
  tell_arrived_ = true;
}

void Attachment::DropOldest() {
  while (sent_bytes_ > kMaxSent && next_ > 0) {
    sent_bytes_ -= kept_.front().bytes.size();
    kept_.pop_front();
    --next_;
  }
}

bool Attachment::Next(uint64_t call, v1::ResultBatch* batch) {
  batch->Clear();
  absl::MutexLock lock(&mutex_);
  if (call == call_) sending_ = false;
  const auto due = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return IsOver(call) || tell_arrived_ || next_ < kept_.size();
  };
  mutex_.Await(absl::Condition(&due));
  if (IsOver(call)) return false;
  if (next_ < kept_.size()) {
    const Entry& entry = kept_[next_++];
    batch->ParseFromString(entry.bytes);
    batch->mutable_results()->DeleteSubrange(
        0, static_cast<int>(std::exchange(skip_, 0)));
    sent_bytes_ += entry.bytes.size();
    unsent_bytes_ -= entry.bytes.size();
    DropOldest();
  }
  if (std::exchange(tell_arrived_, false)) {
    batch->add_results()->set_sequence(arrived_);
  }
  sending_ = true;
  return true;
}

}  // namespace holdfast::executor
