// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/parallel_jobs.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast::cli {
namespace {

// Hands out the numbers and keeps the error of the lowest. Thread-safe.
class Numbers {
 public:
  explicit Numbers(size_t count) : count_(count) {}

  // Returns false if there are no more.
  bool Next(size_t* number) {
    absl::MutexLock lock(&mutex_);
    if (next_ >= count_) return false;
    *number = next_++;
    return true;
  }
  void Fail(size_t number, absl::Status status) {
    absl::MutexLock lock(&mutex_);
    next_ = count_;
    if (!status_.ok() && failed_ < number) return;
    failed_ = number;
    status_ = std::move(status);
  }
  absl::Status status() const {
    absl::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  const size_t count_;
  mutable absl::Mutex mutex_;
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status RunJobs(size_t count,
                     const std::function<absl::Status(size_t number)>& job) {
  Numbers numbers(count);
  const auto work = [&] {
    for (size_t number = 0; numbers.Next(&number);) {
      absl::Status status = job(number);
      if (!status.ok()) numbers.Fail(number, std::move(status));
    }
  };
  const size_t most = std::clamp<size_t>(
      std::thread::hardware_concurrency() / 2, 1, kMaxJobThreads);
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(count, most); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return numbers.status();
}

}  // namespace holdfast::cli
