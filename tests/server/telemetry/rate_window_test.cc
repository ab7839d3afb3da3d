// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/rate_window.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

constexpr auto kLaunch = v1::Command::kLaunch;

ExecutionCounts Launches(uint64_t count) {
  ExecutionCounts counts;
  counts.commands[kLaunch].done = count;
  return counts;
}

TEST(RateWindowTest, ComparesWithTheOldestLookOfTheLastMinute) {
  RateWindow window;
  const absl::Time start = absl::FromUnixSeconds(1000);
  EXPECT_FALSE(window.Look(Launches(10), start).has_value());
  for (int i = 1; i <= 30; ++i) {
    const auto since =
        window.Look(Launches(10 + i), start + absl::Seconds(2 * i));
    ASSERT_TRUE(since.has_value());
    EXPECT_EQ(since->counts.launches(), 10u);
    EXPECT_EQ(since->age, absl::Seconds(2 * i));
  }
  const auto later = window.Look(Launches(50), start + absl::Seconds(63));
  ASSERT_TRUE(later.has_value());
  EXPECT_EQ(later->counts.launches(), 12u);  // of second 4
  EXPECT_EQ(later->age, absl::Seconds(59));
}

TEST(RateWindowTest, HasNoRateAfterALongPause) {
  RateWindow window;
  const absl::Time start = absl::FromUnixSeconds(1000);
  window.Look(Launches(1), start);
  EXPECT_FALSE(window.Look(Launches(2), start + absl::Minutes(5)).has_value());
}

TEST(RateWindowTest, ManyLooksInOneMomentDivideByNothing) {
  RateWindow window;
  const absl::Time start = absl::FromUnixSeconds(1000);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(window.Look(Launches(1), start).has_value());
  }
}

}  // namespace
}  // namespace holdfast
