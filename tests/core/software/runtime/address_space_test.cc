// SPDX-License-Identifier: Apache-2.0
#include "core/software/abi/address_space.h"

#include <memory>

#include "gtest/gtest.h"

namespace holdfast::software {
namespace {

constexpr uintptr_t kBase = 0x100000;
constexpr size_t kSize = 0x10000;
constexpr size_t kPage = 0x1000;

TEST(AddressSpaceTest, RangesDoNotOverlapAndFillTheWindow) {
  AddressSpace space(kBase, kSize);
  const auto low = space.Reserve(kSize / 2, kPage, 0);
  const auto high = space.Reserve(kSize / 2, kPage, 0);
  ASSERT_NE(low, nullptr);
  ASSERT_NE(high, nullptr);
  EXPECT_EQ(low->address(), kBase);
  EXPECT_EQ(high->address(), kBase + kSize / 2);
  EXPECT_EQ(space.Reserve(kPage, kPage, 0), nullptr);
}

TEST(AddressSpaceTest, ReturnedRangesAreMergedAgain) {
  AddressSpace space(kBase, kSize);
  auto a = space.Reserve(kPage, kPage, 0);
  auto b = space.Reserve(kPage, kPage, 0);
  auto c = space.Reserve(kPage, kPage, 0);
  a.reset();
  c.reset();
  b.reset();  // joins both neighbours
  EXPECT_NE(space.Reserve(kSize, kPage, 0), nullptr);
}

TEST(AddressSpaceTest, HintIsTakenOnlyIfFreeAndAligned) {
  AddressSpace space(kBase, kSize);
  const uintptr_t hint = kBase + 4 * kPage;
  const auto first = space.Reserve(kPage, kPage, hint);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->address(), hint);
  const auto taken = space.Reserve(kPage, kPage, hint);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->address(), kBase);
  const auto crooked = space.Reserve(kPage, kPage, kBase + 9 * kPage + 1);
  ASSERT_NE(crooked, nullptr);
  EXPECT_EQ(crooked->address() % kPage, 0u);
  const auto outside = space.Reserve(kPage, kPage, kBase - kPage);
  ASSERT_NE(outside, nullptr);
  EXPECT_TRUE(space.Contains(outside->address()));
}

TEST(AddressSpaceTest, ReservedHighItIsOutOfTheWayOfTheRest) {
  AddressSpace space(kBase, kSize);
  const auto high = space.ReserveHigh(kPage, 2 * kPage, 0);
  const auto low = space.Reserve(4 * kPage, kPage, 0);
  ASSERT_NE(high, nullptr);
  ASSERT_NE(low, nullptr);
  EXPECT_EQ(high->address(), kBase + kSize - 2 * kPage);
  EXPECT_EQ(low->address(), kBase);
  const auto hinted = space.ReserveHigh(kPage, kPage, kBase + 6 * kPage);
  ASSERT_NE(hinted, nullptr);
  EXPECT_EQ(hinted->address(), kBase + 6 * kPage);
  EXPECT_EQ(space.ReserveHigh(kSize, kPage, 0), nullptr);
}

TEST(AddressSpaceTest, AlignmentMayExceedTheSize) {
  AddressSpace space(kBase + kPage, kSize);
  const auto range = space.Reserve(kPage, 8 * kPage, 0);
  ASSERT_NE(range, nullptr);
  EXPECT_EQ(range->address() % (8 * kPage), 0u);
}

TEST(AddressSpaceTest, InQuarantineAddressesAreNotUsedAgainAtOnce) {
  AddressSpace space(kBase, kSize);
  space.Quarantine(2 * kPage);
  const auto take = [&](uintptr_t hint) {
    return space.Reserve(kPage, kPage, hint);
  };
  EXPECT_EQ(take(0)->address(), kBase);
  EXPECT_EQ(take(0)->address(), kBase + kPage);
  // The first one comes back when two others wait.
  EXPECT_EQ(take(0)->address(), kBase + 2 * kPage);
  EXPECT_EQ(take(0)->address(), kBase);
  // Who asks for one by its number gets it, and so does who needs all of them.
  EXPECT_EQ(take(kBase + 2 * kPage)->address(), kBase + 2 * kPage);
  EXPECT_NE(space.Reserve(kSize, kPage, 0), nullptr);
}

TEST(AddressSpaceTest, MoreThanTheWindowIsRefused) {
  AddressSpace space(kBase, kSize);
  EXPECT_EQ(space.Reserve(kSize + kPage, kPage, 0), nullptr);
  EXPECT_EQ(space.Reserve(SIZE_MAX, kPage, 0), nullptr);
  EXPECT_EQ(space.Reserve(0, kPage, 0), nullptr);
}

}  // namespace
}  // namespace holdfast::software
