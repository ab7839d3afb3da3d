// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_LATE_FLUSHER_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_LATE_FLUSHER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast {

// A thread that sends commands which no other thread sends. It reads the queue
// every `delay`, and sends a batch that it finds twice. After a while without a
// batch it sleeps until Wake. Thread-safe.
class LateFlusher {
 public:
  struct Options {
    absl::Duration delay;
    // Returns a number for the waiting batch, which changes when the batch was
    // sent; 0: no batch waits. Called without locks.
    std::function<uint64_t()> waiting;
    std::function<void()> flush;
  };
  // Starts the thread. RESOURCE_EXHAUSTED: the system allows no more threads.
  static absl::StatusOr<std::unique_ptr<LateFlusher>> Start(Options options);
  ~LateFlusher() { Stop(); }
  LateFlusher(const LateFlusher&) = delete;
  LateFlusher& operator=(const LateFlusher&) = delete;

  // Reports that a command waits to be sent. The caller may hold the lock that
  // Options.waiting takes.
  void Wake() {
    if (sleeps_.load(std::memory_order_seq_cst)) [[unlikely]]
      WakeUp();
  }

  // Ends the thread, and waits for it. May be called again.
  void Stop();

 private:
  explicit LateFlusher(Options options);

  void Run();
  // Sleeps until a batch waits.
  void Sleep();
  void WakeUp();
  bool stopped() const {
    absl::MutexLock lock(&mutex_);
    return stop_;
  }

  const Options options_;
  // Set before the thread calls Options.waiting for the last time, so that no
  // Wake is missed.
  std::atomic<bool> sleeps_{false};
  mutable absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_LATE_FLUSHER_H_
