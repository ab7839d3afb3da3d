// SPDX-License-Identifier: Apache-2.0
//
// How a thread that waits under a mutex learns that nobody needs it to wait any
// more: its condition says so, and this has the mutex look at the condition.
//
//   const WakeOnStop wake(cancelled, mutex_);
//   absl::MutexLock lock(&mutex_);
//   const auto due = [&] { return ready_ || cancelled.stop_requested(); };
//   mutex_.Await(absl::Condition(&due));
#ifndef HOLDFAST_CORE_BASE_WAKE_ON_STOP_H_
#define HOLDFAST_CORE_BASE_WAKE_ON_STOP_H_

#include <stop_token>

#include "absl/synchronization/mutex.h"

namespace holdfast {

// While it lives, a request to stop has the conditions of all who wait under
// the mutex looked at. Made and destroyed without the mutex: the request takes
// it, made earlier at once, and its end is waited for.
class WakeOnStop {
 public:
  WakeOnStop(const std::stop_token& stop, absl::Mutex& mutex)
      : wake_(stop, Wake{&mutex}) {}
  WakeOnStop(const WakeOnStop&) = delete;
  WakeOnStop& operator=(const WakeOnStop&) = delete;

 private:
  struct Wake {
    // Conditions are looked at when the mutex is unlocked.
    void operator()() const { const absl::MutexLock lock(mutex); }
    absl::Mutex* mutex;
  };

  const std::stop_callback<Wake> wake_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_WAKE_ON_STOP_H_
