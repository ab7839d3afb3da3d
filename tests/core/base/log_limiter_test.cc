// SPDX-License-Identifier: Apache-2.0
#include "core/base/log_limiter.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);

TEST(LogLimiterTest, DropsBeyondTheBurstAndSaysHowMany) {
  LogLimiter limiter({.burst = 2, .per_second = 1},
                     {.burst = 100, .per_second = 1});
  EXPECT_EQ(limiter.Admit("a", kStart), 0u);
  EXPECT_EQ(limiter.Admit("a", kStart), 0u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(limiter.Admit("a", kStart).has_value());
  }
  EXPECT_EQ(limiter.Admit("b", kStart), 0u);
  EXPECT_EQ(limiter.Admit("a", kStart + absl::Seconds(1)), 5u);
}

TEST(LogLimiterTest, ManyNamesHaveABoundInSum) {
  LogLimiter limiter({.burst = 2, .per_second = 1},
                     {.burst = 10, .per_second = 1});
  int admitted = 0;
  for (int i = 0; i < 10'000; ++i) {
    admitted += limiter.Admit(std::to_string(i), kStart).has_value() ? 1 : 0;
  }
  EXPECT_EQ(admitted, 10);
}

TEST(LogLimiterTest, CountsBytesIfTheyAreItsUnit) {
  LogLimiter limiter({.burst = 100, .per_second = 10},
                     {.burst = 150, .per_second = 10});
  EXPECT_EQ(limiter.Admit("a", kStart, 60), 0u);
  EXPECT_FALSE(limiter.Admit("a", kStart, 60).has_value());
  EXPECT_EQ(limiter.Admit("a", kStart, 40), 1u);
  EXPECT_FALSE(limiter.Admit("b", kStart, 60).has_value());  // 150 in sum
  EXPECT_EQ(limiter.Admit("b", kStart + absl::Seconds(1), 60), 1u);
}

}  // namespace
}  // namespace holdfast
