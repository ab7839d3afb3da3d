// SPDX-License-Identifier: Apache-2.0
//
// Ends the wait of a thread under a mutex when a stop is requested. The
// thread's condition tests the request, and this object makes the mutex
// evaluate the condition.
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

// While this object lives, a stop request makes the mutex evaluate the
// conditions of all waiting threads. REQUIRES: the thread does not hold the
// mutex when it makes or destroys this object. The callback of the request
// locks the mutex: the constructor runs it if the stop was requested before,
// and the destructor waits for it.
class WakeOnStop {
 public:
  WakeOnStop(const std::stop_token& stop, absl::Mutex& mutex)
      : wake_(stop, Wake{&mutex}) {}
  WakeOnStop(const WakeOnStop&) = delete;
  WakeOnStop& operator=(const WakeOnStop&) = delete;

 private:
  struct Wake {
    // A mutex evaluates conditions when it is unlocked.
    void operator()() const { const absl::MutexLock lock(mutex); }
    absl::Mutex* mutex;
  };

  const std::stop_callback<Wake> wake_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_WAKE_ON_STOP_H_
