// SPDX-License-Identifier: Apache-2.0
#include "client/bench/report.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"

namespace holdfast::bench {
namespace {

std::vector<double> OneTo(int n) {
  std::vector<double> samples;
  for (int i = n; i >= 1; --i) samples.push_back(i);
  return samples;
}

TEST(SummaryTest, TailIsTheWorseEnd) {
  const Summary times = Summary::Of(OneTo(100), Better::kLess);
  EXPECT_EQ(times.p50, 51);
  EXPECT_EQ(times.p99, 100);
  EXPECT_EQ(Summary::Of(OneTo(100), Better::kMore).p99, 2);
  EXPECT_EQ(times.count, 100u);
}

TEST(SummaryTest, OneSampleIsEverything) {
  const Summary summary = Summary::Of({3.5}, Better::kMore);
  EXPECT_EQ(summary.p50, 3.5);
  EXPECT_EQ(summary.p99, 3.5);
  EXPECT_EQ(summary.spread(), 0);
}

TEST(SummaryTest, RateAndTimePerUnitAreInverse) {
  const auto nothing = [] { return absl::OkStatus(); };
  const auto rate = RateOf(3, 10, nothing);
  ASSERT_TRUE(rate.ok());
  EXPECT_EQ(rate->count, 3u);
  EXPECT_GT(rate->p50, 0);
  EXPECT_EQ(TimePerUnit(3, 10, nothing)->count, 3u);
}

TEST(SummaryTest, FailureOfTheActionIsTheResult) {
  const auto failing = [] { return absl::AbortedError("broken"); };
  EXPECT_EQ(TimeEach(0, 3, failing).status(), absl::AbortedError("broken"));
  EXPECT_EQ(RateOf(3, 1, failing).status(), absl::AbortedError("broken"));
}

Figure MakeFigure(Better better, double value, double baseline) {
  return Figure{
      .group = "group",
      .name = "name",
      .unit = "µs",
      .better = better,
      .value = Summary::Of({value}, better),
      .baseline = Baseline{"native", Summary::Of({baseline}, better)}};
}

TEST(FigureTest, TimesMustBeAtMostTheBarAndRatesAtLeast) {
  EXPECT_TRUE(*MakeFigure(Better::kLess, 15, 10).ReachingRatio(1.5).Met());
  EXPECT_FALSE(*MakeFigure(Better::kLess, 16, 10).ReachingRatio(1.5).Met());
  EXPECT_TRUE(*MakeFigure(Better::kMore, 95, 100).ReachingRatio(0.95).Met());
  EXPECT_FALSE(*MakeFigure(Better::kMore, 94, 100).ReachingRatio(0.95).Met());
}

TEST(FigureTest, ASumIsOfTheBaselineAndSoMuchMore) {
  const Figure met = MakeFigure(Better::kLess, 14, 10).ReachingSum(4);
  EXPECT_EQ(met.bar->text, "≤ native + 4 µs");
  EXPECT_TRUE(*met.Met());
  EXPECT_FALSE(*MakeFigure(Better::kLess, 14.1, 10).ReachingSum(4).Met());
}

TEST(FigureTest, ASumOfACopyIsOfItsTimes) {
  // 8000 bytes at 2 GB/s take 4 µs, and 8 µs are 1 GB/s.
  const Figure met =
      MakeFigure(Better::kMore, 1.001, 2).ReachingCopySum(8000, 4);
  EXPECT_EQ(met.bar->text, "≥ native with 4 µs more");
  EXPECT_TRUE(*met.Met());
  EXPECT_FALSE(
      *MakeFigure(Better::kMore, 0.999, 2).ReachingCopySum(8000, 4).Met());
}

TEST(FigureTest, NothingIsMetWithoutABaseline) {
  Figure figure = MakeFigure(Better::kMore, 1, 1);
  figure.baseline.reset();
  figure = std::move(figure).ReachingRatio(0.5);
  EXPECT_EQ(figure.Met(), std::nullopt);
  EXPECT_EQ(figure.Ratio(), std::nullopt);
}

TEST(FigureTest, ABarMayBeSetInPlace) {
  Figure figure = MakeFigure(Better::kMore, 1, 1);
  figure = std::move(figure).ReachingRatio(0.5);
  EXPECT_EQ(figure.name, "name");
  EXPECT_EQ(figure.Met(), true);
}

TEST(ReportTest, TableTellsWhatIsNotMet) {
  Report report;
  report.figures.push_back(
      MakeFigure(Better::kMore, 90, 100).ReachingRatio(0.95));
  const std::string table = report.ToTable();
  EXPECT_TRUE(absl::StrContains(table, "| group: name ")) << table;
  EXPECT_TRUE(absl::StrContains(table, "≥ 0.95 × native")) << table;
  EXPECT_TRUE(absl::StrContains(table, "NOT MET")) << table;
}

TEST(ReportTest, RatesAreReadable) {
  Report report;
  Figure figure = MakeFigure(Better::kMore, 2.5e6, 12.3e3);
  figure.unit = "/s";
  report.figures.push_back(figure);
  const std::string table = report.ToTable();
  EXPECT_TRUE(absl::StrContains(table, "2.50 M/s")) << table;
  EXPECT_TRUE(absl::StrContains(table, "native 12.3 k/s")) << table;
}

TEST(ReportTest, JsonHasTheBarAndTheBaseline) {
  Report report;
  report.host = "a \"host\"";
  report.figures.push_back(
      MakeFigure(Better::kLess, 12, 10).ReachingRatio(1.5));
  const std::string json = report.ToJson();
  EXPECT_TRUE(absl::StrContains(json, R"("ratio": 1.2)")) << json;
  EXPECT_TRUE(absl::StrContains(json, R"("limit": 15)")) << json;
  EXPECT_TRUE(absl::StrContains(json, R"("met": true)")) << json;
  EXPECT_TRUE(absl::StrContains(json, R"("host": "a \"host\"")")) << json;
}

}  // namespace
}  // namespace holdfast::bench
