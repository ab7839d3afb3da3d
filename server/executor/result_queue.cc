// SPDX-License-Identifier: Apache-2.0
#include "server/executor/result_queue.h"

#include <utility>

#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;

}  // namespace

std::shared_ptr<void> ResultQueue::Hold(std::shared_ptr<ResultQueue> queue) {
  queue->Expect();
  return std::shared_ptr<void>(
      nullptr, [queue = std::move(queue)](void*) { queue->Release(); });
}

void ResultQueue::Release() {
  absl::MutexLock lock(&mutex_);
  --owed_;
}

void ResultQueue::Expect() {
  absl::MutexLock lock(&mutex_);
  ++owed_;
}

void ResultQueue::Deliver(v1::Result result) {
  absl::MutexLock lock(&mutex_);
  --owed_;
  if (!abandoned_) results_.push_back(std::move(result));
}

void ResultQueue::Add(v1::Result result) {
  absl::MutexLock lock(&mutex_);
  if (!abandoned_) results_.push_back(std::move(result));
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
}

void ResultQueue::Abandon() {
  absl::MutexLock lock(&mutex_);
  abandoned_ = true;
  results_.clear();
}

bool ResultQueue::Await(absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(this, &ResultQueue::Ready),
                                 limit);
}

bool ResultQueue::Take(v1::ResultBatch* batch) {
  batch->Clear();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &ResultQueue::Ready));
  size_t bytes = 0;
  while (!results_.empty() && bytes < kBatchBytes) {
    bytes += results_.front().ByteSizeLong();
    *batch->add_results() = std::move(results_.front());
    results_.pop_front();
  }
  return batch->results_size() > 0;
}

bool ResultQueue::AwaitRoom() {
  absl::MutexLock lock(&mutex_);
  const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return abandoned_ || results_.size() < kMaxWaiting;
  };
  mutex_.Await(absl::Condition(&room));
  return !abandoned_;
}

}  // namespace holdfast::executor
