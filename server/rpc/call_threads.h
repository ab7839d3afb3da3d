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

// Threads for the calls of a callback service that have to wait: those that
// serve the connections must not. A thread is started when all others are busy,
// and kept for the calls to come. Clients share the threads as FairShare says.
// Thread-safe.
//
// The number of threads never shrinks, so a burst costs once.
class CallThreads {
 public:
  // A client alone gets half of them; see FairShare.
  explicit CallThreads(size_t max_threads)
      : share_("calls that wait", max_threads) {}

  // Returns when every call has.
  ~CallThreads();
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  // Runs the call in a thread of its own. RESOURCE_EXHAUSTED: there is none,
  // or none for this client. Returns at once. The call may not throw.
  absl::Status Run(const std::string& client, std::function<void()> call);

 private:
  // A call that no thread has taken yet.
  struct Call {
    std::string client;
    std::function<void()> run;
  };

  // REQUIRES: no thread is free.
  absl::Status AddThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A thread's loop: runs calls until the end, and all that are left then.
  void Serve();

  FairShare share_;  // of the threads
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  size_t free_ ABSL_GUARDED_BY(mutex_) = 0;  // threads less calls
  std::deque<Call> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_THREADS_H_
