// SPDX-License-Identifier: Apache-2.0
#include "core/base/spin.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(NapTest, NapsGrowWithTheWaitWithinBounds) {
  EXPECT_EQ(NapAfter(0ns), 5us);
  EXPECT_EQ(NapAfter(6400us), 50us);
  EXPECT_EQ(NapAfter(10s), 1ms);
}

TEST(NapTest, SeesWhatAnotherThreadDoes) {
  std::atomic<bool> done{false};
  std::thread other([&done] { done = true; });
  bool seen = false;
  while (!seen) seen = SpinThenSleep([&done] { return done.load(); });
  other.join();
  EXPECT_TRUE(seen);
}

TEST(NapTest, GivesUpOnWhatNeverComes) {
  EXPECT_FALSE(SpinThenSleep([] { return false; }));
}

TEST(NapTest, LeavesTheThreadsTimerSlackAsItWas) {
  ASSERT_EQ(prctl(PR_SET_TIMERSLACK, 70'000), 0);
  {
    const PreciseSleep precise;
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 1000);
  }
  EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 70'000);
}

}  // namespace
}  // namespace holdfast
