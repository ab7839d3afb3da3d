// SPDX-License-Identifier: Apache-2.0
#include "server/health/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast {
namespace {

class HealthTest : public testing::Test {
 protected:
  HealthTest() {
    health_.Watch([this](const Health::View& view) { seen_ = view; });
  }

  Health health_;
  Health::View seen_;
};

TEST_F(HealthTest, NothingIsServedBeforeADeviceHasPassedItsProbe) {
  EXPECT_FALSE(seen_.serving);
  EXPECT_STREQ(seen_.obstacle, "the first executor is not started yet");
  health_.SetExecutors(true);
  EXPECT_FALSE(seen_.serving);
  EXPECT_STREQ(seen_.obstacle, "no device is probed yet");
  health_.SetDevice(0, true);
  EXPECT_TRUE(seen_.serving);
  EXPECT_STREQ(seen_.obstacle, "");
  EXPECT_TRUE(seen_.devices.at(0));
}

TEST_F(HealthTest, OneDeviceThatWorksIsEnough) {
  health_.SetExecutors(true);
  health_.SetDevice(0, false);
  health_.SetDevice(1, true);
  EXPECT_TRUE(seen_.serving);
  EXPECT_FALSE(seen_.devices.at(0));
  health_.SetDevice(1, false);
  EXPECT_FALSE(seen_.serving);
  EXPECT_THAT(seen_.obstacle, testing::HasSubstr("no device works"));
}

TEST_F(HealthTest, WithoutExecutorsNoDeviceServes) {
  health_.SetExecutors(true);
  health_.SetDevice(0, true);
  health_.SetExecutors(false);
  EXPECT_FALSE(seen_.serving);
  EXPECT_FALSE(seen_.devices.at(0));
  EXPECT_THAT(seen_.obstacle, testing::HasSubstr("no executor can be started"));
}

TEST_F(HealthTest, ASoftwareDeviceInPlaceOfAGpuIsNotReady) {
  health_.SetExecutors(true);
  health_.SetDevice(0, true);
  health_.SetGpuMissing();
  EXPECT_FALSE(seen_.serving);
  EXPECT_TRUE(seen_.devices.at(0));
  EXPECT_THAT(seen_.obstacle, testing::HasSubstr("stands in for a GPU"));
}

}  // namespace
}  // namespace holdfast
