// SPDX-License-Identifier: Apache-2.0
#include "server/executor/submission/result_queue.h"

#include <utility>

#include "core/base/spin.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;

}  // namespace

std::shared_ptr<void> ResultQueue::Hold(std::shared_ptr<ResultQueue> queue) {
  {
    absl::MutexLock lock(&queue->mutex_);
    ++queue->held_;
  }
  return std::shared_ptr<void>(
      nullptr, [queue = std::move(queue)](void*) { queue->Release(); });
}

void ResultQueue::Release() {
  absl::MutexLock lock(&mutex_);
  --held_;
  ++changes_;
}

void ResultQueue::SendDirectly(SendNow send) {
  absl::MutexLock lock(&mutex_);
  send_now_ = std::move(send);
}

void ResultQueue::Push(v1::Result result) {
  if (abandoned_) return;
  if (send_now_ != nullptr && results_.empty() && !sending_) {
    single_.Clear();
    *single_.add_results() = std::move(result);
    if (send_now_(single_)) return;
    result = std::move(*single_.mutable_results(0));
  }
  const size_t bytes = result.ByteSizeLong();
  results_.push_back({std::move(result), bytes});
  ++count_;
  bytes_ += bytes;
  ++changes_;
}

void ResultQueue::Expect(size_t bytes) {
  absl::MutexLock lock(&mutex_);
  ++owed_;
  ++count_;
  bytes_ += bytes;
}

void ResultQueue::Deliver(v1::Result result, size_t expected_bytes) {
  {
    absl::MutexLock lock(&mutex_);
    --owed_;
    --count_;
    bytes_ -= expected_bytes;
    Push(std::move(result));
  }
  AnnounceRoom();
}

void ResultQueue::Add(v1::Result result) {
  absl::MutexLock lock(&mutex_);
  Push(std::move(result));
}

void ResultQueue::AddError(uint64_t sequence, const absl::Status& error) {
  v1::Result result;
  result.set_sequence(sequence);
  *result.mutable_error() = ToError(error);
  Add(std::move(result));
}

void ResultQueue::Finish() {
  absl::MutexLock lock(&mutex_);
  finished_ = true;
  ++changes_;
}

void ResultQueue::Abandon() {
  {
    absl::MutexLock lock(&mutex_);
    abandoned_ = true;
    ++changes_;
    for (const Entry& entry : results_) bytes_ -= entry.bytes;
    count_ -= results_.size();
    results_.clear();
  }
  AnnounceRoom();
}

void ResultQueue::LookForAMoment() {
  const uint32_t seen = changes_;
  {
    absl::MutexLock lock(&mutex_);
    if (Ready()) return;
  }
  SpinThenSleep([&] { return changes_ != seen; });
}

void ResultQueue::AwaitSent(absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  const auto sent = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return abandoned_ || (results_.empty() && !sending_);
  };
  mutex_.AwaitWithTimeout(absl::Condition(&sent), limit);
}

bool ResultQueue::Take(v1::ResultBatch* batch) {
  batch->Clear();
  {
    absl::MutexLock lock(&mutex_);
    sending_ = false;
  }
  LookForAMoment();
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &ResultQueue::Ready));
    size_t bytes = 0;
    while (!results_.empty() && bytes < kBatchBytes) {
      Entry& entry = results_.front();
      *batch->add_results() = std::move(entry.result);
      bytes += entry.bytes;
      bytes_ -= entry.bytes;
      --count_;
      results_.pop_front();
    }
    sending_ = batch->results_size() > 0;
  }
  AnnounceRoom();
  return batch->results_size() > 0;
}

bool ResultQueue::HasRoom(const std::function<void()>& when_room) {
  if (Room()) [[likely]]
    return true;
  absl::MutexLock lock(&mutex_);
  // An abandoned queue keeps nothing.
  if (Room() || abandoned_) return true;
  when_room_ = when_room;
  return false;
}

void ResultQueue::AnnounceRoom() {
  std::function<void()> announce;
  {
    absl::MutexLock lock(&mutex_);
    if (when_room_ == nullptr || !(Room() || abandoned_)) return;
    announce = std::exchange(when_room_, nullptr);
  }
  announce();
}

bool ResultQueue::AwaitRoom() {
  absl::MutexLock lock(&mutex_);
  const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return abandoned_ || Room();
  };
  mutex_.Await(absl::Condition(&room));
  return !abandoned_;
}

}  // namespace holdfast::executor
