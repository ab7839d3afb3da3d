// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_LATCH_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_LATCH_H_

#include <atomic>

#include "core/software/base/mutex.h"

namespace holdfast::software {

// A point in the work of a graph for which threads wait. A latch opens once and
// stays open. Thread-safe.
class Latch {
 public:
  // Returns true if the latch is open. The caller then sees all writes that the
  // opening thread made before Open.
  bool open() const { return open_.load(std::memory_order_acquire); }

  // Opens the latch, and wakes all waiting threads. Later calls have no effect.
  void Open() {
    {
      MutexLock lock(&mutex_);
      open_.store(true, std::memory_order_release);
    }
    opened_.NotifyAll();
  }

  // Blocks until the latch is open.
  void Wait() {
    MutexLock lock(&mutex_);
    while (!open()) opened_.Wait(&mutex_);
  }

 private:
  std::atomic<bool> open_{false};
  Mutex mutex_;
  ConditionVariable opened_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_LATCH_H_
