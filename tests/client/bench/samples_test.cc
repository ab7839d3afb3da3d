// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "client/bench/summary.h"

namespace holdfast::bench {
namespace {

constexpr double kHour = 3600;

TEST(SamplesTest, TheFirstDoNotCount) {
  Samples samples(/*warm_up=*/2, /*count=*/3, kHour);
  double value = 0;
  while (samples.Wanted()) samples.Add(++value);
  EXPECT_EQ(samples.Take(), (std::vector<double>{3, 4, 5}));
}

// As on a machine where one sample takes a minute.
TEST(SamplesTest, OneIsEnoughWhenTheTimeIsOver) {
  Samples samples(/*warm_up=*/2, /*count=*/3, /*patience=*/0);
  double value = 0;
  while (samples.Wanted()) samples.Add(++value);
  EXPECT_EQ(samples.Take(), std::vector<double>{1});
}

}  // namespace
}  // namespace holdfast::bench
