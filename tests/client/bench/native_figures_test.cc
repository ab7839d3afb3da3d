// SPDX-License-Identifier: Apache-2.0
#include "client/bench/native_figures.h"

#include <gtest/gtest.h>

namespace holdfast::bench {
namespace {

TEST(NativeFiguresTest, SurviveTheWayBetweenProcesses) {
  NativeFigures figures;
  figures["launch_rate"] = {3.25e5, 1e5, 2e5, 4e5, 7};
  figures["pinned_in/4096"] = {0.125, 0.1, 0.1, 0.2, 200};
  const auto parsed = ParseNativeFigures(Serialize(figures));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ(parsed->at("launch_rate").p50, 3.25e5);
  EXPECT_EQ(parsed->at("pinned_in/4096").p90, 0.2);
  EXPECT_EQ(parsed->at("pinned_in/4096").count, 200u);
}

TEST(NativeFiguresTest, OtherOutputIsRefused) {
  EXPECT_TRUE(absl::IsDataLoss(ParseNativeFigures("a 1 2 3 4\n").status()));
  EXPECT_TRUE(absl::IsDataLoss(ParseNativeFigures("a 1 2 3 4 x\n").status()));
}

TEST(NativeFiguresTest, EveryGroupButTheCompilersRunsOnTheSoftwareDriver) {
  cuda::DriverOptions driver;
  driver.choice = cuda::DriverChoice::kSoftware;
  for (const char* group : {"session", "launch", "memory", "event", "graph"}) {
    const auto figures = MeasureNative(group, /*quick=*/true, driver);
    ASSERT_TRUE(figures.ok()) << group << ": " << figures.status();
    EXPECT_FALSE(figures->empty()) << group;
    for (const auto& [name, summary] : *figures) {
      EXPECT_GT(summary.p50, 0) << name;
    }
  }
  EXPECT_TRUE(
      absl::IsNotFound(MeasureNative("nothing", true, driver).status()));
}

}  // namespace
}  // namespace holdfast::bench
