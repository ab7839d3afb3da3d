// SPDX-License-Identifier: Apache-2.0
#include "core/base/free_ranges.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace holdfast {
namespace {

TEST(FreeRangesTest, TakesTheLowestThatIsLargeEnough) {
  FreeRanges free;
  free.Add(1000, 10);
  free.Add(100, 20);
  EXPECT_EQ(free.Take(10), 100u);
  EXPECT_EQ(free.Take(11), std::nullopt);  // 10 left at 110, 10 at 1000
  EXPECT_EQ(free.Take(10), 110u);
  EXPECT_EQ(free.Take(10), 1000u);
  EXPECT_TRUE(free.empty());
  EXPECT_EQ(free.Take(1), std::nullopt);
}

TEST(FreeRangesTest, TakeHighestTakesTheEndOfTheLastThatIsLargeEnough) {
  FreeRanges free;
  free.Add(0x1000, 0x1000);
  free.Add(0x4080, 0xF00);
  EXPECT_EQ(free.TakeHighest(0x100), 0x4E80u);
  EXPECT_EQ(free.TakeHighest(0xD00, 0x100), 0x4100u);
  EXPECT_EQ(free.TakeHighest(0x80, 0x100), 0x4E00u);
  // What is left there begins at no such multiple.
  EXPECT_EQ(free.TakeHighest(0x80, 0x100), 0x1F00u);
  EXPECT_EQ(free.TakeHighest(0x1000), std::nullopt);
  EXPECT_EQ(free.TakeHighest(0), std::nullopt);
  EXPECT_EQ(free.largest(), 0xF00u);
}

TEST(FreeRangesTest, NeighboursBecomeOneInWhateverOrderTheyComeBack) {
  FreeRanges free;
  free.Add(20, 10);
  free.Add(0, 10);
  EXPECT_EQ(free.largest(), 10u);
  free.Add(10, 10);
  EXPECT_EQ(free.largest(), 30u);
  EXPECT_EQ(free.Take(30), 0u);
}

TEST(FreeRangesTest, AlignmentSkipsTheStartOfARange) {
  FreeRanges free;
  free.Add(0x1100, 0x3000);
  EXPECT_EQ(free.Take(0x1000, 0x1000), 0x2000u);
  // The range that was skipped is still free.
  EXPECT_TRUE(free.TakeAt(0x1100, 0xF00));
  EXPECT_EQ(free.Take(0x1000, 0x1000), 0x3000u);
  EXPECT_EQ(free.Take(0x1000, 0x1000), std::nullopt);
}

TEST(FreeRangesTest, ARangeThatOnlyAlignmentLeavesNoRoomInIsPassedOver) {
  FreeRanges free;
  free.Add(0x10, 0x20);  // shorter than what alignment would skip
  free.Add(0x100, 0x100);
  EXPECT_EQ(free.Take(0x10, 0x100), 0x100u);
}

TEST(FreeRangesTest, TakeAtTakesAllOrNothing) {
  FreeRanges free;
  free.Add(100, 100);
  EXPECT_FALSE(free.TakeAt(99, 2));
  EXPECT_FALSE(free.TakeAt(199, 2));
  EXPECT_FALSE(free.TakeAt(200, 1));
  EXPECT_FALSE(free.TakeAt(150, 0));
  EXPECT_FALSE(free.TakeAt(150, ~uint64_t{0}));
  EXPECT_EQ(free.largest(), 100u);
  EXPECT_TRUE(free.TakeAt(150, 10));
  EXPECT_FALSE(free.TakeAt(155, 10));
  EXPECT_EQ(free.largest(), 50u);
}

TEST(FreeRangesTest, NothingIsNeverTaken) {
  FreeRanges free;
  free.Add(0, 10);
  EXPECT_EQ(free.Take(0), std::nullopt);
  free.Add(20, 0);
  EXPECT_EQ(free.largest(), 10u);
}

// Against a table of bytes.
TEST(FreeRangesTest, AgreesWithAModel) {
  constexpr uint64_t kBytes = 256;
  std::mt19937 random(18);
  FreeRanges free;
  free.Add(0, kBytes);
  std::vector<bool> used(kBytes, false);
  std::vector<std::pair<uint64_t, uint64_t>> taken;
  const auto fits = [&](uint64_t at, uint64_t size) {
    if (at + size > kBytes) return false;
    for (uint64_t i = at; i < at + size; ++i) {
      if (used[i]) return false;
    }
    return true;
  };
  for (int round = 0; round < 4000; ++round) {
    if (random() % 2 == 0 && !taken.empty()) {
      const size_t which = random() % taken.size();
      const auto [at, size] = taken[which];
      taken.erase(taken.begin() + static_cast<ptrdiff_t>(which));
      free.Add(at, size);
      for (uint64_t i = at; i < at + size; ++i) used[i] = false;
      continue;
    }
    const uint64_t size = 1 + random() % 24;
    const uint64_t alignment = uint64_t{1} << random() % 5;
    const bool highest = random() % 3 == 0;
    std::optional<uint64_t> expected;
    for (uint64_t at = 0; at < kBytes; at += alignment) {
      if (fits(at, size) && (highest || !expected)) expected = at;
    }
    const std::optional<uint64_t> at = highest
                                           ? free.TakeHighest(size, alignment)
                                           : free.Take(size, alignment);
    ASSERT_EQ(at, expected) << "round " << round;
    if (!at) continue;
    taken.emplace_back(*at, size);
    for (uint64_t i = *at; i < *at + size; ++i) used[i] = true;
  }
}

}  // namespace
}  // namespace holdfast
