// SPDX-License-Identifier: Apache-2.0
//
// The checks of boxes; that they are copied right, is for
// tests/server/executor/copy_test.cc.
#include "core/cuda/box.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/testing/status_matchers.h"

namespace holdfast::cuda {
namespace {

using absl::StatusCode;

constexpr uint64_t kMost = UINT64_MAX;

StatusCode Completes(const Box& box, const Pitches& pitches) {
  return CompletePitches(box, pitches).status().code();
}

TEST(BoxTest, PitchesThatAreNotGivenLeaveNoGaps) {
  const auto pitches = CompletePitches({10, 4, 2}, {});
  ASSERT_OK(pitches);
  EXPECT_EQ(pitches->row, 10u);
  EXPECT_EQ(pitches->slice, 40u);
  EXPECT_EQ(CompletePitches({10, 4, 2}, {16, 0})->slice, 64u);
  EXPECT_EQ(*BoxExtent({10, 4, 2}, {16, 80}), 80u + 3 * 16 + 10);
}

TEST(BoxTest, BoxesWithoutBytesAndRowsThatOverlapAreRefused) {
  EXPECT_EQ(Completes({0, 1, 1}, {}), StatusCode::kInvalidArgument);
  EXPECT_EQ(Completes({1, 0, 1}, {}), StatusCode::kInvalidArgument);
  EXPECT_EQ(Completes({1, 1, 0}, {}), StatusCode::kInvalidArgument);
  EXPECT_EQ(Completes({10, 2, 1}, {9, 0}), StatusCode::kInvalidArgument);
  EXPECT_EQ(Completes({10, 2, 2}, {10, 19}), StatusCode::kInvalidArgument);
  EXPECT_EQ(Completes({10, 2, 2}, {10, 25}), StatusCode::kInvalidArgument);
  EXPECT_EQ(Completes({10, 2, 2}, {10, 30}), StatusCode::kOk);
}

TEST(BoxTest, NothingOverflows) {
  EXPECT_EQ(Completes({kMost, 2, 1}, {}), StatusCode::kOutOfRange);
  EXPECT_EQ(Completes({1, kMost, 1}, {2, 0}), StatusCode::kOutOfRange);
  EXPECT_EQ(Completes({1, 1, kMost}, {kMost, 0}), StatusCode::kOk);
  EXPECT_EQ(BoxExtent({1, 1, kMost}, {kMost, kMost}).status().code(),
            StatusCode::kOutOfRange);
  EXPECT_EQ(BoxExtent({2, 2, 1}, {kMost, kMost}).status().code(),
            StatusCode::kOutOfRange);
  EXPECT_EQ(*BoxExtent({1, 2, 1}, {kMost - 1, kMost - 1}), kMost);
}

std::set<uint64_t> BytesOf(const Box& box, uint64_t start,
                           const Pitches& pitches) {
  std::set<uint64_t> bytes;
  for (uint64_t z = 0; z < box.depth; ++z) {
    for (uint64_t y = 0; y < box.height; ++y) {
      for (uint64_t x = 0; x < box.width; ++x) {
        bytes.insert(start + z * pitches.slice + y * pitches.row + x);
      }
    }
  }
  return bytes;
}

// Against the definition: no byte in both.
TEST(BoxTest, BoxesOfTheSamePitchesAreApartExactlyIfNoByteIsInBoth) {
  std::minstd_rand random(3);
  const auto up_to = [&random](uint64_t most) { return 1 + random() % most; };
  int apart = 0;
  for (int i = 0; i < 4000; ++i) {
    const Box box = {up_to(5), up_to(4), up_to(3)};
    Pitches pitches;
    pitches.row = box.width + random() % 6;
    pitches.slice = pitches.row * (box.height + random() % 4);
    const uint64_t a = random() % 40, b = random() % 40;
    const std::set<uint64_t> of_a = BytesOf(box, a, pitches);
    bool shared = false;
    for (const uint64_t byte : BytesOf(box, b, pitches)) {
      shared = shared || of_a.count(byte) > 0;
    }
    ASSERT_EQ(CheckApart(box, a, pitches, b, pitches).ok(), !shared)
        << box.width << "x" << box.height << "x" << box.depth << " "
        << pitches.row << " " << pitches.slice << " at " << a << ", " << b;
    apart += shared ? 0 : 1;
  }
  EXPECT_GT(apart, 100);
  EXPECT_LT(apart, 3900);
}

TEST(BoxTest, BoxesInEachOtherNeedTheSamePitches) {
  const Box box = {1, 2, 1};
  EXPECT_EQ(CheckApart(box, 0, {4, 8}, 1, {6, 12}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_OK(CheckApart(box, 0, {4, 8}, 5, {6, 12}));
}

}  // namespace
}  // namespace holdfast::cuda
