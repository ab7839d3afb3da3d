// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/free_list.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace holdfast {
namespace {

TEST(FreeListTest, PlacesAreAlignedAndDoNotOverlap) {
  FreeList list(4096);
  EXPECT_EQ(list.Take(1), 0u);
  EXPECT_EQ(list.Take(257), 256u);
  EXPECT_EQ(list.Take(256), 768u);
  EXPECT_EQ(list.largest(), 4096u - 1024);
}

TEST(FreeListTest, NeighboursBecomeOne) {
  FreeList list(1024);
  for (uint64_t i = 0; i < 4; ++i) ASSERT_EQ(list.Take(256), 256 * i);
  EXPECT_FALSE(list.Take(1));
  list.GiveBack(0, 256);
  list.GiveBack(512, 256);
  EXPECT_EQ(list.largest(), 256u);
  EXPECT_FALSE(list.Take(257));
  list.GiveBack(256, 256);
  EXPECT_EQ(list.largest(), 768u);
  list.GiveBack(768, 256);
  EXPECT_EQ(list.Take(1024), 0u);
}

TEST(FreeListTest, WhatCannotFitIsNowhere) {
  FreeList list(1000);
  EXPECT_FALSE(list.Take(1001));
  EXPECT_FALSE(list.Take(UINT64_MAX));
  EXPECT_FALSE(list.Take(UINT64_MAX - 255));
}

TEST(FreeListTest, WhateverHappensNothingIsLostOrHandedOutTwice) {
  constexpr uint64_t kSize = 64 << 10;
  struct Place {
    uint64_t offset, size;
  };
  FreeList list(kSize);
  std::vector<Place> taken;
  std::vector<bool> used(kSize);
  const auto mark = [&used](const Place& place, bool value) {
    for (uint64_t i = place.offset; i < place.offset + place.size; ++i) {
      ASSERT_NE(used[i], value);
      used[i] = value;
    }
  };
  std::minstd_rand random(7);
  for (int i = 0; i < 5000; ++i) {
    if (random() % 2 == 0) {
      const uint64_t size = 1 + random() % 5000;
      if (const auto offset = list.Take(size)) {
        ASSERT_LE(*offset + size, kSize);
        taken.push_back({*offset, size});
        ASSERT_NO_FATAL_FAILURE(mark(taken.back(), true));
      }
    } else if (!taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      ASSERT_NO_FATAL_FAILURE(mark(taken.back(), false));
      list.GiveBack(taken.back().offset, taken.back().size);
      taken.pop_back();
    }
  }
  for (const Place& place : taken) list.GiveBack(place.offset, place.size);
  EXPECT_EQ(list.Take(kSize), 0u);
}

}  // namespace
}  // namespace holdfast
