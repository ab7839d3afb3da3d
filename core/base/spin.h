// SPDX-License-Identifier: Apache-2.0
//
// Waiting for what is about to happen. To put a thread to sleep and wake it
// again takes several microseconds, more than most of what one thread of
// Holdfast does for the next: whoever waits looks for a while first. And a
// processor that has been idle for a millisecond takes long to wake up itself,
// 150 us and more in a virtual machine; one that has napped for a tenth of that
// does not.
#ifndef HOLDFAST_CORE_BASE_SPIN_H_
#define HOLDFAST_CORE_BASE_SPIN_H_

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace holdfast {

// Below this number of processors a thread that spins takes the place of the
// one that it waits for.
inline constexpr unsigned kSpinProcessors = 4;

// Decided once, by the number of processors of the machine.
inline bool MaySpin() {
  static const bool may =
      std::thread::hardware_concurrency() >= kSpinProcessors;
  return may;
}

// Until `ready()` is true; false if it was not within `limit`. On machines with
// few processors it looks only once. By default it looks for as long as a round
// trip through all of Holdfast's threads takes, so that they keep each other
// awake.
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

// Naps are as short as asked for, while it lives: by default the kernel
// prolongs each of this thread's sleeps by 50 us. For the thread that makes it;
// not to be handed to another.
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

// How long to nap in a wait that has lasted so long: it is to be prolonged by
// half a per cent or less. Between 5 us and 1 ms.
inline std::chrono::nanoseconds NapAfter(std::chrono::nanoseconds waited) {
  return std::clamp<std::chrono::nanoseconds>(
      waited / 128, std::chrono::microseconds(5), std::chrono::milliseconds(1));
}

// SpinUntil for what is expected within milliseconds: spins at first, and naps
// from then on, 25 ms in all. That takes 2 to 6 ms of a processor besides
// `spin`, more where naps go through a hypervisor. Returns whether it is ready.
// Give it a condition that is cheap to look at, an atomic as a rule.
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
