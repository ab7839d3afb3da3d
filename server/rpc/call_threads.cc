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

absl::Status CallThreads::Run(const std::string& client,
                              std::function<void()> call) {
  const size_t share = (max_threads_ + 1) / 2;
  absl::MutexLock lock(&mutex_);
  const auto own = calls_of_.find(client);
  if (own != calls_of_.end() && own->second >= share) {
    return absl::ResourceExhaustedError(
        absl::StrCat(own->second, " calls of this client wait already, the ",
                     "limit is ", share, "; try again later"));
  }
  if (free_ == 0) HOLDFAST_RETURN_IF_ERROR(AddThread());
  --free_;
  ++calls_of_[client];
  calls_.push_back({client, std::move(call)});
  return absl::OkStatus();
}

void CallThreads::Leave(const std::string& client) {
  const auto own = calls_of_.find(client);
  if (--own->second == 0) calls_of_.erase(own);
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
    Call call = std::move(calls_.front());
    calls_.pop_front();
    mutex_.Unlock();
    call.run();
    call.run = nullptr;
    mutex_.Lock();
    Leave(call.client);
    ++free_;
    mutex_.Await(absl::Condition(&due));
  }
  mutex_.Unlock();
}

}  // namespace holdfast
