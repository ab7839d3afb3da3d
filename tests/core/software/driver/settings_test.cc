// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/settings.h"

#include <stdlib.h>

#include "core/software/runtime/thread_count.h"
#include "gmock/gmock.h"
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

TEST(SettingsTest, DevicesShareHalfOfTheMachineMemoryThatTheyAreTold) {
  setenv("HOLDFAST_SOFTWARE_MACHINE_MEMORY", "500M", /*overwrite=*/1);
  setenv("HOLDFAST_SOFTWARE_DEVICES", "2", /*overwrite=*/1);
  unsetenv("HOLDFAST_SOFTWARE_MEMORY");
  constexpr size_t kShare = size_t{124} << 20;  // 125 MiB, in units of 2 MiB
  EXPECT_EQ(GetSettings().memory_bytes, (std::vector<size_t>{kShare, kShare}));
}

// The device reports as many multiprocessors as there are threads.
TEST(SettingsTest, ThreadsAreAsManyAsTheDeviceReports) {
  unsetenv("HOLDFAST_SOFTWARE_THREADS");
  const int cpus = ThreadCount();
  EXPECT_GE(cpus, 1);
  EXPECT_LE(cpus, kMaxThreads);
  for (const char* refused : {"", "0", "-1", "1025", "2000", "many"}) {
    setenv("HOLDFAST_SOFTWARE_THREADS", refused, /*overwrite=*/1);
    int threads = 7;
    EXPECT_FALSE(ParseThreads(refused, &threads)) << refused;
    EXPECT_EQ(threads, 7) << refused;
    EXPECT_EQ(ThreadCount(), cpus) << refused;
  }
  setenv("HOLDFAST_SOFTWARE_THREADS", "1024", /*overwrite=*/1);
  EXPECT_EQ(ThreadCount(), 1024);
  unsetenv("HOLDFAST_SOFTWARE_THREADS");
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

TEST(SizesTest, AListHasOneEachDeviceAndNoGaps) {
  std::vector<size_t> sizes;
  EXPECT_TRUE(ParseSizes("4G,512M", &sizes));
  EXPECT_THAT(sizes, testing::ElementsAre(size_t{4} << 30, size_t{512} << 20));
  for (const char* bad : {"4G,", ",4G", "4G,,1G", "4G;1G", "4G,0"}) {
    EXPECT_FALSE(ParseSizes(bad, &sizes)) << bad;
  }
  EXPECT_EQ(sizes.size(), 2u);
}

TEST(ChooseDevicesTest, NumbersAndUuidsInTheirOrder) {
  const std::vector<std::string> names = {"GPU-aa00", "GPU-ab11", "GPU-cc22"};
  const auto choose = [&](const char* list) {
    return ChooseDevices(list, names);
  };
  EXPECT_THAT(choose(""), testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(choose("2,0"), testing::ElementsAre(2, 0));
  EXPECT_THAT(choose("GPU-cc22, 1"), testing::ElementsAre(2, 1));
  EXPECT_THAT(choose("gpu-ab"), testing::IsEmpty());
  EXPECT_THAT(choose("GPU-AB"), testing::ElementsAre(1));
}

TEST(ChooseDevicesTest, EndsAtTheFirstThatIsNone) {
  const std::vector<std::string> names = {"GPU-aa00", "GPU-ab11", "GPU-cc22"};
  const auto choose = [&](const char* list) {
    return ChooseDevices(list, names);
  };
  EXPECT_THAT(choose("1,3,0"), testing::ElementsAre(1));
  EXPECT_THAT(choose("1,1,0"), testing::ElementsAre(1));
  EXPECT_THAT(choose("0,GPU-a,1"), testing::ElementsAre(0));  // two begin so
  EXPECT_THAT(choose("-1"), testing::IsEmpty());
}

}  // namespace
}  // namespace holdfast::software
