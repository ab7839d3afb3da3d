// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_LATCH_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_LATCH_H_

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace holdfast::software {

// A point in the work of a graph that threads wait for. Opens once and stays
// open. Thread-safe.
class Latch {
 public:
  bool open() const { return open_.load(std::memory_order_acquire); }

  void Open() {
    {
      std::lock_guard lock(mutex_);
      open_.store(true, std::memory_order_release);
    }
    opened_.notify_all();
  }

  // Blocks until the latch is open.
  void Wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open(); });
  }

 private:
  std::atomic<bool> open_{false};
  std::mutex mutex_;
  std::condition_variable opened_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_LATCH_H_
