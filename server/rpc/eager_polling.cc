// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/eager_polling.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "core/base/sanitizer.h"
#include "core/base/spin.h"

namespace holdfast {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kEagerTime(200);

// Constant-initialised, since epoll_wait may be called before constructors run.
constinit std::atomic<Clock::rep> eager_until{0};
constinit std::atomic<uint64_t> polls{0};

bool IsEager(Clock::time_point now) {
  return now.time_since_epoch().count() <
         eager_until.load(std::memory_order_relaxed);
}

// The kernel's epoll_wait, which the C library's leads to.
int Wait(int epoll, epoll_event* events, int max_events, int timeout_ms) {
  constexpr size_t kSignalSetBytes = 8;  // of no signal set
  return static_cast<int>(syscall(SYS_epoll_pwait, epoll, events, max_events,
                                  timeout_ms, nullptr, kSignalSetBytes));
}

int PollThenWait(int epoll, epoll_event* events, int max_events,
                 int timeout_ms) {
  const auto timeout = timeout_ms < 0 ? std::chrono::hours(1)
                                      : std::chrono::milliseconds(timeout_ms);
  Clock::time_point now = Clock::now();
  const Clock::time_point end = now + timeout;
  while (IsEager(now) && now < end) {
    polls.fetch_add(1, std::memory_order_relaxed);
    const int count = Wait(epoll, events, max_events, 0);
    if (count != 0) return count;
    now = Clock::now();
  }
  if (timeout_ms < 0) return Wait(epoll, events, max_events, timeout_ms);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
  return Wait(epoll, events, max_events,
              std::max(0, static_cast<int>(left.count())));
}

}  // namespace

void PollEagerly() {
  if (!MaySpin()) return;
  eager_until.store((Clock::now() + kEagerTime).time_since_epoch().count(),
                    std::memory_order_relaxed);
}

uint64_t EagerPolls() { return polls.load(std::memory_order_relaxed); }

}  // namespace holdfast

// ThreadSanitizer's own tells it which thread's work comes before which.
#ifndef HOLDFAST_TSAN
extern "C" __attribute__((visibility("default"))) int epoll_wait(
    int epoll, epoll_event* events, int max_events, int timeout_ms) {
  if (timeout_ms == 0 ||
      holdfast::eager_until.load(std::memory_order_relaxed) == 0) {
    return holdfast::Wait(epoll, events, max_events, timeout_ms);
  }
  return holdfast::PollThenWait(epoll, events, max_events, timeout_ms);
}
#endif
