// SPDX-License-Identifier: Apache-2.0
#include "server/executor/submission/device_clocks.h"

#include <gtest/gtest.h>

#include <memory>

namespace holdfast::executor {
namespace {

class DeviceClocksTest : public testing::Test {
 protected:
  // As many places as there are.
  uint32_t TakePlaces() {
    uint32_t taken = 0;
    while (taken < 10000 && clocks_.TakePlace(0)) {
      clocks_.NoteGiven(0);
      ++taken;
    }
    return taken;
  }

  const std::shared_ptr<DeviceTimes> times_ = std::make_shared<DeviceTimes>();
  DeviceClocks clocks_{times_};
};

TEST_F(DeviceClocksTest, AClockRunsFromTheFirstWorkToTheEndOfTheLast) {
  const uint64_t before = DeviceTimes::Now();
  clocks_.NoteGiven(3);
  EXPECT_TRUE(times_->busy(3));
  EXPECT_EQ(clocks_.TakeUnmarked(), std::vector<uint32_t>{3});
  clocks_.NoteGiven(3);
  // Marks are waited for already.
  EXPECT_TRUE(clocks_.TakeUnmarked().empty());
  EXPECT_TRUE(clocks_.NoteDone(3).mark);
  EXPECT_TRUE(times_->busy(3));
  EXPECT_EQ(times_->sum(3), 0u);
  EXPECT_EQ(clocks_.TakeUnmarked(), std::vector<uint32_t>{3});
  EXPECT_FALSE(clocks_.NoteDone(3).mark);
  EXPECT_FALSE(times_->busy(3));
  EXPECT_GT(times_->sum(3), 0u);
  EXPECT_LE(times_->sum(3), DeviceTimes::Now() - before);
  EXPECT_EQ(times_->sum(0), 0u);
}

TEST_F(DeviceClocksTest, IgnoresDevicesBeyondTheLast) {
  clocks_.NoteGiven(DeviceTimes::kMaxDevices);
  EXPECT_TRUE(clocks_.TakeUnmarked().empty());
}

TEST_F(DeviceClocksTest, HasPlacesForOnePieceBehindTheOneThatIsWaitedFor) {
  const uint32_t piece = TakePlaces();
  EXPECT_GT(piece, 0u);
  EXPECT_EQ(clocks_.TakeUnmarked().size(), 1u);
  EXPECT_EQ(TakePlaces(), piece);
  EXPECT_TRUE(clocks_.TakeUnmarked().empty());
  const DeviceClocks::Next next = clocks_.NoteDone(0);
  EXPECT_TRUE(next.mark);
  EXPECT_TRUE(next.place);
  EXPECT_EQ(clocks_.TakeUnmarked().size(), 1u);
  // It took no time, so the next piece may be larger.
  EXPECT_GT(TakePlaces(), piece);
}

// Such commands fail before they give work, so nothing would give the places
// back.
TEST_F(DeviceClocksTest, CommandsThatGiveNoWorkUseUpNoPlace) {
  for (int i = 0; i < 10000; ++i) EXPECT_TRUE(clocks_.TakePlace(0));
}

}  // namespace
}  // namespace holdfast::executor
