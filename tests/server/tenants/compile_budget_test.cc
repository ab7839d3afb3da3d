// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/compile_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "core/base/quota_exceeded.h"

namespace holdfast {
namespace {

absl::Time At(absl::Duration time) {
  return absl::FromUnixSeconds(1'800'000'000) + time;
}

TEST(CompileBudgetTest, TheTimeOfAnHourIsBounded) {
  CompileBudget budget("a", {.time_per_hour = absl::Seconds(10)});
  EXPECT_TRUE(budget.Begin(At(absl::ZeroDuration())).ok());
  budget.AddTime(absl::Seconds(6), At(absl::ZeroDuration()));
  budget.AddTime(absl::Milliseconds(3999), At(absl::Minutes(30)));
  EXPECT_TRUE(budget.Begin(At(absl::Minutes(30))).ok());
  budget.AddTime(absl::Milliseconds(1), At(absl::Minutes(31)));
  const absl::Status refused = budget.Begin(At(absl::Minutes(59))).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "compile-seconds of tenant a: one more compilation asked for, "
            "compilers have worked 10.0 s for it within the last hour, the "
            "limit is 10.0 s (the tenant's quota)");
  const auto exceeded = GetQuotaExceeded(refused);
  ASSERT_TRUE(exceeded.has_value());
  EXPECT_EQ(exceeded->limit, 10'000u);
  EXPECT_EQ(exceeded->used, 10'000u);
  // The first 6 seconds are over an hour ago.
  EXPECT_TRUE(budget.Begin(At(absl::Minutes(61))).ok());
  EXPECT_EQ(budget.TimeOfLastHour(At(absl::Minutes(61))), absl::Seconds(4));
  EXPECT_EQ(budget.TimeOfLastHour(At(absl::Hours(30))), absl::ZeroDuration());
  EXPECT_EQ(budget.total_time(), absl::Seconds(10));
}

TEST(CompileBudgetTest, RequestsThatWaitOrRunAreBounded) {
  CompileBudget budget("a", {.requests = 2});
  const absl::Time now = At(absl::ZeroDuration());
  const auto one = budget.Begin(now);
  {
    const auto two = budget.Begin(now);
    EXPECT_EQ(budget.requests(), 2u);
    const absl::Status refused = budget.Begin(now).status();
    EXPECT_EQ(refused.message(),
              "compile-requests of tenant a: 1 requests asked for, 2 are in "
              "use, the limit is 2 requests (the tenant's quota)");
  }
  EXPECT_TRUE(budget.Begin(now).ok());
  budget.SetLimits({});
  EXPECT_TRUE(budget.Begin(now).ok());
}

TEST(CompileBudgetTest, TheNextDaemonGoesOnFromItsTimes) {
  const absl::Time now = At(absl::ZeroDuration());
  CompileBudget budget("a", {});
  budget.AddTime(absl::Seconds(5), now - absl::Hours(2));
  budget.AddTime(absl::Milliseconds(1500), now - absl::Minutes(30));
  internal::TenantCounters counters;
  budget.Record(&counters);
  (*counters.mutable_compile_minutes())[-1].set_seconds(1000);
  CompileBudget next("a", {.time_per_hour = absl::Seconds(2)});
  next.AddTime(absl::Seconds(1), now);
  next.Add(counters);
  EXPECT_EQ(next.total_time(), absl::Milliseconds(7500));
  EXPECT_EQ(next.TimeOfLastHour(now), absl::Milliseconds(2500));
  EXPECT_FALSE(next.Begin(now).ok());
  EXPECT_TRUE(next.Begin(now + absl::Minutes(31)).ok());
}

TEST(CompileBudgetTest, AGroupCountsAllItsTenants) {
  const auto group =
      std::make_shared<CompileBudget>("(other)", CompileBudget::Limits());
  CompileBudget a("a", {}, group), b("b", {}, group);
  a.AddTime(absl::Seconds(1), At(absl::ZeroDuration()));
  b.AddTime(absl::Seconds(2), At(absl::ZeroDuration()));
  EXPECT_EQ(group->total_time(), absl::Seconds(3));
  EXPECT_EQ(b.total_time(), absl::Seconds(2));
}

}  // namespace
}  // namespace holdfast
