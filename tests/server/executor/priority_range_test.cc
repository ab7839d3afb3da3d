// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/priority_range.h"

#include <gtest/gtest.h>

namespace holdfast::executor {
namespace {

constexpr auto kAll = v1::STREAM_PRIORITY_CLASS_UNSPECIFIED;
constexpr auto kLow = v1::STREAM_PRIORITY_CLASS_LOW;
constexpr auto kNormal = v1::STREAM_PRIORITY_CLASS_NORMAL;
constexpr auto kHigh = v1::STREAM_PRIORITY_CLASS_HIGH;

TEST(PriorityRangeTest, ClassesCutTheRangeOfAGpuIntoThirds) {
  constexpr PriorityRange kGpu = {.least = 0, .greatest = -5};
  EXPECT_EQ(PartOf(kGpu, kAll), kGpu);
  EXPECT_EQ(PartOf(kGpu, kLow), (PriorityRange{0, -1}));
  EXPECT_EQ(PartOf(kGpu, kNormal), (PriorityRange{-2, -3}));
  EXPECT_EQ(PartOf(kGpu, kHigh), (PriorityRange{-4, -5}));
}

TEST(PriorityRangeTest, NoPartOfASmallRangeIsEmpty) {
  for (int greatest = 0; greatest >= -4; --greatest) {
    const PriorityRange device = {.least = 0, .greatest = greatest};
    int before = 0;
    for (const auto one : {kLow, kNormal, kHigh}) {
      const PriorityRange part = PartOf(device, one);
      EXPECT_LE(part.greatest, part.least);
      EXPECT_TRUE(device.Contains(part.least) && device.Contains(part.greatest))
          << greatest;
      EXPECT_LE(part.least, before);
      before = part.least;
    }
  }
}

TEST(PriorityRangeTest, APriorityOutsideStandsForTheNearest) {
  constexpr PriorityRange kNormalPart = {.least = -2, .greatest = -3};
  EXPECT_EQ(kNormalPart.Clamp(0), -2);
  EXPECT_EQ(kNormalPart.Clamp(-3), -3);
  EXPECT_EQ(kNormalPart.Clamp(-5), -3);
}

}  // namespace
}  // namespace holdfast::executor
