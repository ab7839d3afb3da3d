// SPDX-License-Identifier: Apache-2.0
//
// Keeps the timeouts of Abseil, and so of gRPC, right when CLOCK_REALTIME is
// set.
//
// Abseil before 20230802 waits until a time of CLOCK_REALTIME: a wait of a
// second takes an hour and a second if the clock is set back by an hour. A
// program that links this file waits on CLOCK_MONOTONIC instead, for the time
// that is left when the wait begins. This file defines
// AbslInternalPerThreadSemWait, for which Abseil has a weak definition.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "absl/base/internal/thread_identity.h"
#include "absl/synchronization/internal/create_thread_identity.h"
#include "absl/synchronization/internal/kernel_timeout.h"
#include "absl/synchronization/internal/per_thread_sem.h"
#include "absl/synchronization/internal/waiter.h"

namespace {

using absl::synchronization_internal::KernelTimeout;
using absl::synchronization_internal::Waiter;

// The number of posts to a thread, as Abseil's Waiter counts them.
using Count = std::atomic<int32_t>;
static_assert(ABSL_WAITER_MODE == ABSL_WAITER_MODE_FUTEX);
static_assert(sizeof(Waiter) == sizeof(Count));

constexpr int64_t kNanoseconds = 1'000'000'000;
constexpr int64_t kUnsureWait = 2 * kNanoseconds;
constexpr int64_t kForgetAfter = 10 * kNanoseconds;

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * kNanoseconds + time.tv_nsec;
}

int64_t Now(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return Nanoseconds(now);
}

// By how much CLOCK_REALTIME is ahead of CLOCK_MONOTONIC; 0: not known yet.
std::atomic<int64_t> offset = 0;
// The same before the clock was set last, and when that was noticed.
std::atomic<int64_t> offset_before = 0;
std::atomic<int64_t> noticed = -kForgetAfter;

void NoteOffset(int64_t seen, int64_t now) {
  const int64_t known = offset.exchange(seen);
  if (known == 0 || std::abs(seen - known) < kNanoseconds) return;
  offset_before = known;
  noticed = now;
}

// Returns the time from `now` (CLOCK_MONOTONIC) to `end` (CLOCK_REALTIME).
// absl::Now() may use the old setting for about 2 s after the clock is set, so
// `end` may be by the old or the new setting. Returns the shorter time that is
// positive; if one has passed, at most kUnsureWait.
int64_t LeftUntil(int64_t end, int64_t now) {
  const int64_t seen = Now(CLOCK_REALTIME) - now;
  NoteOffset(seen, now);
  const int64_t left = end - now - seen;
  if (now - noticed > kForgetAfter) return left;
  const int64_t left_before = end - now - offset_before;
  const int64_t nearer = std::min(left, left_before);
  if (nearer > 0) return nearer;
  return std::min(std::max(left, left_before), kUnsureWait);
}

// The time of CLOCK_MONOTONIC that is as far as `timeout` is by the wall clock.
timespec SteadyEnd(KernelTimeout timeout) {
  int64_t steady = Now(CLOCK_MONOTONIC);
  const int64_t left =
      LeftUntil(Nanoseconds(timeout.MakeAbsTimespec()), steady);
  if (left > 0 && __builtin_add_overflow(steady, left, &steady)) {
    steady = INT64_MAX;
  }
  return {steady / kNanoseconds, steady % kNanoseconds};
}

bool TryTake(Count& count) {
  int32_t posted = count.load(std::memory_order_relaxed);
  while (posted != 0) {
    if (count.compare_exchange_weak(posted, posted - 1,
                                    std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// Returns whether the futex was woken, or may have been.
bool Wait(Count& count, const timespec* end) {
  return syscall(SYS_futex, &count, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
                 /*value=*/0, end, nullptr, FUTEX_BITSET_MATCH_ANY) == 0 ||
         errno != ETIMEDOUT;
}

}  // namespace

extern "C" bool ABSL_INTERNAL_C_SYMBOL(AbslInternalPerThreadSemWait)(
    KernelTimeout timeout) {
  auto* const thread =
      absl::synchronization_internal::GetOrCreateCurrentThreadIdentity();
  Count& count = *reinterpret_cast<Count*>(thread->waiter_state.data);
  if (TryTake(count)) return true;
  const bool ends = timeout.has_timeout();
  const timespec end = ends ? SteadyEnd(timeout) : timespec{};
  while (Wait(count, ends ? &end : nullptr)) {
    if (TryTake(count)) return true;
  }
  return false;
}
