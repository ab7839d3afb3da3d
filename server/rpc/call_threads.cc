// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/call_threads.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {

CallThreads::~CallThreads() {
  std::vector<std::thread> threads;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

absl::Status CallThreads::Run(std::function<void()> call) {
  absl::MutexLock lock(&mutex_);
  if (free_ == 0) HOLDFAST_RETURN_IF_ERROR(AddThread());
  --free_;
  calls_.push_back(std::move(call));
  return absl::OkStatus();
}

absl::Status CallThreads::AddThread() {
  if (threads_.size() >= max_threads_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(threads_.size(), " calls wait already, the limit is ",
                     max_threads_, "; try again later"));
  }
  try {
    threads_.emplace_back([this] { Serve(); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread for the call beside ", threads_.size(),
                     " others: ", error.what()));
  }
  ++free_;
  return absl::OkStatus();
}

void CallThreads::Serve() {
  const auto due = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return stopping_ || !calls_.empty();
  };
  mutex_.LockWhen(absl::Condition(&due));
  while (!calls_.empty()) {
    std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    mutex_.Unlock();
    call();
    call = nullptr;
    mutex_.Lock();
    ++free_;
    mutex_.Await(absl::Condition(&due));
  }
  mutex_.Unlock();
}

}  // namespace holdfast
