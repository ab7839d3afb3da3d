// SPDX-License-Identifier: Apache-2.0
//
// Waits for events that are about to happen. Putting a thread to sleep and
// waking it takes several microseconds, more than most steps of a command. So a
// waiting thread polls for a while first. A processor that has been idle for a
// millisecond takes long to wake up, 150 us and more in a virtual machine; a
// processor that has been idle for a tenth of a millisecond does not. So longer
// waits use short naps.
#ifndef HOLDFAST_CORE_BASE_SPIN_H_
#define HOLDFAST_CORE_BASE_SPIN_H_

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace holdfast {

// With fewer processors, a spinning thread would take the processor of the
// thread that it waits for.
inline constexpr unsigned kSpinProcessors = 4;

// Returns true if the machine has enough processors. Decided once.
inline bool MaySpin() {
  static const bool may =
      std::thread::hardware_concurrency() >= kSpinProcessors;
  return may;
}

// Polls until `ready()` is true, and returns true. Returns false after `limit`.
// If MaySpin is false, polls only once. The default limit is the time of a
// round trip through all of Holdfast's threads, so that threads that answer
// each other stay awake.
template <typename Ready>
bool SpinUntil(Ready ready, std::chrono::microseconds limit =
                                std::chrono::microseconds(200)) {
  if (ready()) return true;
  if (!MaySpin()) return false;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      __builtin_ia32_pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return ready();
}

// While this object lives, sleeps of the calling thread last only as long as
// requested; by default the kernel prolongs each sleep by up to 50 us. The same
// thread must make and destroy the object.
class PreciseSleep {
 public:
  PreciseSleep() : before_(prctl(PR_GET_TIMERSLACK)) {
    prctl(PR_SET_TIMERSLACK, 1000 /* ns */);
  }
  ~PreciseSleep() { prctl(PR_SET_TIMERSLACK, before_); }
  PreciseSleep(const PreciseSleep&) = delete;
  PreciseSleep& operator=(const PreciseSleep&) = delete;

 private:
  const int before_;
};

// Returns the length of the next nap in a wait that has lasted for `waited`:
// 1/128 of it, so that the nap prolongs the wait by less than one per cent, but
// at least 5 us and at most 1 ms.
inline std::chrono::nanoseconds NapAfter(std::chrono::nanoseconds waited) {
  return std::clamp<std::chrono::nanoseconds>(
      waited / 128, std::chrono::microseconds(5), std::chrono::milliseconds(1));
}

// Waits for an event that is expected within milliseconds: calls SpinUntil with
// the limit `spin`, then polls between naps, for 25 ms in total. The naps take
// 2 to 6 ms of processor time, more under a hypervisor. Returns true once
// `ready()` is true, and false after 25 ms. If MaySpin is false, polls only
// once. `ready` should be cheap, such as a load of an atomic.
template <typename Ready>
bool SpinThenSleep(Ready ready, std::chrono::microseconds spin =
                                    std::chrono::microseconds(200)) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLimit(25);
  const Clock::time_point begin = Clock::now();
  if (SpinUntil(ready, spin)) return true;
  if (!MaySpin()) return false;
  const PreciseSleep precise;
  for (;;) {
    const Clock::duration waited = Clock::now() - begin;
    if (waited >= kLimit) return false;
    std::this_thread::sleep_for(NapAfter(waited));
    if (ready()) return true;
  }
}

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_SPIN_H_
