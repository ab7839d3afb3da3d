// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/call_threads.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/start_thread.h"
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
  HOLDFAST_RETURN_IF_ERROR(share_.Take(client, 1));
  absl::MutexLock lock(&mutex_);
  const absl::Status started = free_ > 0 ? absl::OkStatus() : AddThread();
  if (!started.ok()) {
    share_.Return(client, 1);
    return started;
  }
  --free_;
  calls_.push_back({client, std::move(call)});
  return absl::OkStatus();
}

absl::Status CallThreads::AddThread() {
  HOLDFAST_ASSIGN_OR_RETURN(
      std::thread thread,
      StartThread(absl::StrCat("the call beside ", threads_.size(), " others"),
                  [this] { Serve(); }));
  threads_.push_back(std::move(thread));
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
    ++free_;
    share_.Return(call.client, 1);
    mutex_.Await(absl::Condition(&due));
  }
  mutex_.Unlock();
}

}  // namespace holdfast
