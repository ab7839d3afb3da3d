// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_CALL_THREADS_H_
#define HOLDFAST_SERVER_RPC_CALL_THREADS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/rpc/fair_share.h"

namespace holdfast {

// Threads for the calls of a callback service that wait, because gRPC's threads
// must not wait. A thread is started when all others are busy, and kept for
// later calls. Clients share the threads as FairShare defines. Thread-safe.
//
// The number of threads never decreases, so that a burst costs only once.
class CallThreads {
 public:
  // `max_threads` is the most threads; a single client gets half of them
  // (FairShare).
  explicit CallThreads(size_t max_threads)
      : share_("calls that wait", max_threads) {}

  // Blocks until every call has returned.
  ~CallThreads();
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  // Lets one of the threads run `call`, and returns at once. `call` must not
  // throw. RESOURCE_EXHAUSTED: the client has its share of the threads, or the
  // system starts no more threads; `call` does not run.
  absl::Status Run(const std::string& client, std::function<void()> call);

 private:
  // A call that no thread has taken yet.
  struct Call {
    std::string client;
    std::function<void()> run;
  };

  // REQUIRES: no thread is free.
  absl::Status AddThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A thread's loop: runs calls until the end, and then the remaining calls.
  void Serve();

  FairShare share_;  // of the threads
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  size_t free_ ABSL_GUARDED_BY(mutex_) = 0;  // threads minus calls
  std::deque<Call> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_THREADS_H_
