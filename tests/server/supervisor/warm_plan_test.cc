// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/warm_plan.h"

#include <gtest/gtest.h>

#include <optional>

namespace holdfast::supervisor {
namespace {

using Devices = WarmPlan::Devices;

std::optional<uint32_t> Start(const WarmPlan& plan, const Devices& waiting,
                              const std::vector<Devices>& calls = {}) {
  const auto step = plan.Next(waiting, calls);
  return step.has_value() ? step->start : std::nullopt;
}

TEST(WarmPlanTest, TheFirstDeviceIsWarmUntilAnotherIsAskedFor) {
  WarmPlan plan(1);
  EXPECT_EQ(Start(plan, {}), 0u);
  EXPECT_FALSE(plan.Next({0}, {}).has_value());
  plan.NoteDemand(2);
  const auto step = plan.Next({0}, {});
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->end, 0u);  // its context takes memory that nobody asked for
  EXPECT_EQ(Start(plan, {}), 2u);
}

TEST(WarmPlanTest, AnotherDeviceCanBeTheFirst) {
  const WarmPlan plan(1, 3);
  EXPECT_EQ(Start(plan, {}), 3u);
}

TEST(WarmPlanTest, SeveralAreSharedOutAmongTheDevicesAskedForLast) {
  WarmPlan plan(2);
  EXPECT_EQ(Start(plan, {0}), 0u);
  plan.NoteDemand(1);
  EXPECT_FALSE(plan.Next({0, 1}, {}).has_value());
  plan.NoteDemand(2);
  EXPECT_EQ(plan.Next({0, 1}, {})->end, 0u);
  EXPECT_EQ(Start(plan, {1}), 2u);
}

TEST(WarmPlanTest, ASessionGetsOnlyAnExecutorOnADeviceOfItsOwn) {
  EXPECT_EQ(WarmPlan::Choose({0, 1}, {2}), std::nullopt);
  EXPECT_EQ(WarmPlan::Choose({0, 1}, {2, 1}), 1u);
  EXPECT_EQ(WarmPlan::Choose({0, 1}, {1, 0}), 1u);
  const WarmPlan plan(1);
  EXPECT_EQ(Start(plan, {0}, {{1}}), 1u);
}

TEST(WarmPlanTest, EachCallThatWaitsHasAnExecutorOfItsOwn) {
  const WarmPlan none(0);
  EXPECT_FALSE(none.Next({0}, {}).has_value());
  EXPECT_FALSE(none.Next({1}, {{0, 1}}).has_value());
  EXPECT_EQ(Start(none, {1}, {{0, 1}, {1}}), 1u);
  EXPECT_EQ(Start(none, {}, {{2, 0}}), 2u);
}

TEST(WarmPlanTest, CallsThatNoExecutorWaitsForGetTheirsSideBySide) {
  const std::vector<Devices> calls = {{0}, {1, 0}, {0}, {2}, {0}};
  EXPECT_EQ(WarmPlan::MissingForCalls({}, calls, 4), (Devices{0, 1, 0, 2}));
  // One that waits is for one call alone.
  EXPECT_EQ(WarmPlan::MissingForCalls({0}, calls, 9), (Devices{1, 0, 2, 0}));
  EXPECT_EQ(WarmPlan::MissingForCalls({0, 1, 0, 2, 0}, calls, 9), Devices{});
}

TEST(WarmPlanTest, NoExecutorWaitsOnAForgottenDeviceUntilItIsAskedFor) {
  WarmPlan plan(1);
  plan.Forget(0);
  EXPECT_TRUE(plan.empty());
  EXPECT_FALSE(plan.Next({}, {}).has_value());
  // A session that needs it still gets one.
  EXPECT_EQ(plan.Next({}, {{0}})->start, 0u);
  plan.NoteDemand(0);
  EXPECT_EQ(plan.Next({}, {})->start, 0u);
}

}  // namespace
}  // namespace holdfast::supervisor
