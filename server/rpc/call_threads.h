// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_CALL_THREADS_H_
#define HOLDFAST_SERVER_RPC_CALL_THREADS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Threads for the calls of a callback service that have to wait: those that
// serve the connections must not. A thread is started when all others are busy,
// and kept for the calls to come. Thread-safe.
class CallThreads {
 public:
  explicit CallThreads(size_t max_threads) : max_threads_(max_threads) {}

  // Returns when every call has.
  ~CallThreads();
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  // Runs the call in a thread of its own. RESOURCE_EXHAUSTED: there is none.
  absl::Status Run(std::function<void()> call);

 private:
  // REQUIRES: no thread is free.
  absl::Status AddThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Serve();

  const size_t max_threads_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  size_t free_ ABSL_GUARDED_BY(mutex_) = 0;  // threads less calls
  std::deque<std::function<void()>> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_THREADS_H_
