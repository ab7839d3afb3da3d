// SPDX-License-Identifier: Apache-2.0
#include <grpc/support/sync.h>
#include <grpc/support/time.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/steady_time.h"

namespace {

// Seconds that the program's clock is ahead of the kernel's. While it is ahead,
// a wait that the kernel ends by CLOCK_REALTIME is one during which the clock
// was set back.
std::atomic<time_t> ahead = 0;

}  // namespace

// In place of libc's.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += ahead;
  return static_cast<int>(result);
}

namespace holdfast {
namespace {

constexpr absl::Duration kTimeout = absl::Milliseconds(200);

absl::Time Clock() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return absl::TimeFromTimespec(now);
}

// absl::Now() sees only after 2 s that the clock was set.
void AwaitThatAbseilKnows() {
  while (absl::AbsDuration(Clock() - absl::Now()) > absl::Seconds(1)) {
    absl::SleepFor(absl::Milliseconds(10));
  }
}

// Calls `wait`, and expects that it takes kTimeout.
template <typename Wait>
void ExpectTimeout(const char* what, Wait wait) {
  const absl::Time began = SteadyNow();
  wait();
  const absl::Duration took = SteadyNow() - began;
  EXPECT_GE(took, kTimeout) << what << ", " << ahead;
  EXPECT_LT(took, absl::Seconds(30)) << what << ", " << ahead;
}

void WaitForMutex() {
  absl::Mutex mutex;
  bool never = false;
  absl::MutexLock lock(&mutex);
  EXPECT_FALSE(mutex.AwaitWithTimeout(absl::Condition(&never), kTimeout));
}

void WaitForConditionVariable() {
  absl::Mutex mutex;
  absl::CondVar changed;
  absl::MutexLock lock(&mutex);
  EXPECT_TRUE(changed.WaitWithDeadline(&mutex, absl::Now() + kTimeout));
}

// What gRPC's timers wait by.
void WaitForGrpc() {
  gpr_mu mutex;
  gpr_cv changed;
  gpr_mu_init(&mutex);
  gpr_cv_init(&changed);
  gpr_mu_lock(&mutex);
  const auto timeout = gpr_time_from_millis(
      absl::ToInt64Milliseconds(kTimeout) + 1, GPR_TIMESPAN);
  EXPECT_NE(gpr_cv_wait(&changed, &mutex,
                        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), timeout)),
            0);
  gpr_mu_unlock(&mutex);
}

void ExpectTimeouts() {
  ExpectTimeout("mutex", WaitForMutex);
  ExpectTimeout("condition variable", WaitForConditionVariable);
  ExpectTimeout("gRPC", WaitForGrpc);
}

class SteadyWaitsTest : public ::testing::TestWithParam<time_t> {
 protected:
  SteadyWaitsTest() {
    AwaitThatAbseilKnows();
    ExpectTimeouts();
    ahead = GetParam();
  }
  ~SteadyWaitsTest() override { ahead = 0; }
};

INSTANTIATE_TEST_SUITE_P(Clock, SteadyWaitsTest, testing::Values(3600, -3600));

TEST_P(SteadyWaitsTest, TimeoutsAreKeptWhenTheClockIsSet) {
  ExpectTimeouts();
  AwaitThatAbseilKnows();
  ExpectTimeouts();
}

TEST_P(SteadyWaitsTest, ADeadlineThatIsOverIsNotAwaitedForLong) {
  const absl::Time deadline = absl::Now() - absl::Seconds(1);
  absl::Mutex mutex;
  bool never = false;
  const absl::Time began = SteadyNow();
  absl::MutexLock lock(&mutex);
  EXPECT_FALSE(mutex.AwaitWithDeadline(absl::Condition(&never), deadline));
  EXPECT_FALSE(
      mutex.AwaitWithDeadline(absl::Condition(&never), absl::InfinitePast()));
  EXPECT_LT(SteadyNow() - began, absl::Seconds(30));
}

TEST(SteadyWaitsWakeTest, ANotificationEndsAWaitWithATimeout) {
  absl::Notification done;
  std::thread other([&done] {
    absl::SleepFor(kTimeout);
    done.Notify();
  });
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(absl::Hours(2)));
  other.join();
}

}  // namespace
}  // namespace holdfast
