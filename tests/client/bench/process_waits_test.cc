// SPDX-License-Identifier: Apache-2.0
#include "client/bench/process_waits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace holdfast::bench {
namespace {

TEST(ProcessWaitsTest, TheSleepsOfAllThreadsAreCounted) {
  constexpr uint64_t kSleeps = 20;
  absl::Notification slept, counted;
  const auto before = CountWaits(getpid());
  ASSERT_TRUE(before.ok()) << before.status();
  // It still lives when it is counted.
  std::thread sleeper([&] {
    for (uint64_t i = 0; i < kSleeps; ++i)
      absl::SleepFor(absl::Milliseconds(1));
    slept.Notify();
    counted.WaitForNotification();
  });
  slept.WaitForNotification();
  const auto after = CountWaits(getpid());
  counted.Notify();
  sleeper.join();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_GE(*after, *before + kSleeps);
}

TEST(ProcessWaitsTest, ThereIsNoProcessZero) {
  EXPECT_TRUE(absl::IsNotFound(CountWaits(0).status()));
}

}  // namespace
}  // namespace holdfast::bench
