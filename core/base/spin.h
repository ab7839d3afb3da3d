// SPDX-License-Identifier: Apache-2.0
//
// Waiting for what is about to happen. To put a thread to sleep and wake it
// again takes several microseconds, more than most of what one thread of
// Holdfast does for the next: whoever waits looks for a while first.
#ifndef HOLDFAST_CORE_BASE_SPIN_H_
#define HOLDFAST_CORE_BASE_SPIN_H_

#include <chrono>
#include <thread>

namespace holdfast {

// Below this number of processors a thread that spins takes the place of the
// one that it waits for.
inline constexpr unsigned kSpinProcessors = 4;

inline bool MaySpin() {
  static const bool may =
      std::thread::hardware_concurrency() >= kSpinProcessors;
  return may;
}

// Until `ready()` is true; false if it was not within `limit`, which should not
// be much longer than the time that a sleep costs. On machines with few
// processors it looks only once.
template <typename Ready>
bool SpinUntil(Ready ready, std::chrono::microseconds limit =
                                std::chrono::microseconds(50)) {
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

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_SPIN_H_
