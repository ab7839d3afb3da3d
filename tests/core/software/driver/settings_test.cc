// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/settings.h"

#include "gtest/gtest.h"

namespace holdfast::software {
namespace {

TEST(SettingsTest, SizesHaveBinaryUnits) {
  size_t bytes = 0;
  EXPECT_TRUE(ParseSize("4096", &bytes));
  EXPECT_EQ(bytes, 4096u);
  EXPECT_TRUE(ParseSize("3K", &bytes));
  EXPECT_EQ(bytes, 3u << 10);
  EXPECT_TRUE(ParseSize("2G", &bytes));
  EXPECT_EQ(bytes, size_t{2} << 30);
}

TEST(SettingsTest, NonsenseIsNoSizeAndLeavesTheValueAlone) {
  size_t bytes = 7;
  for (const char* text : {"", "G", "0", "-1", "1.5G", "4KB", "99999999999T"}) {
    EXPECT_FALSE(ParseSize(text, &bytes)) << text;
  }
  EXPECT_EQ(bytes, 7u);
}

TEST(SettingsTest, ComputeCapabilityIsAtMostNine) {
  int major = 0, minor = 0;
  EXPECT_TRUE(ParseComputeCapability("8.6", &major, &minor));
  EXPECT_EQ(major * 10 + minor, 86);
  EXPECT_TRUE(ParseComputeCapability("75", &major, &minor));
  EXPECT_EQ(major * 10 + minor, 75);
  EXPECT_TRUE(ParseComputeCapability("9.0", &major, &minor));
  for (const char* text : {"", "9", "9.1", "10.0", "4.0", "8,6", "8.66"}) {
    EXPECT_FALSE(ParseComputeCapability(text, &major, &minor)) << text;
  }
}

}  // namespace
}  // namespace holdfast::software
