// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/arena_index.h"

#include <memory>

#include "gtest/gtest.h"

namespace holdfast {
namespace {

// The index hands arenas out and never looks at them.
std::shared_ptr<const Arena> Fake() {
  const auto owner = std::make_shared<int>();
  return {owner, reinterpret_cast<const Arena*>(owner.get())};
}

TEST(ArenaIndexTest, FindsTheArenaThatAnAddressLiesIn) {
  ArenaIndex index;
  const auto low = Fake();
  const auto high = Fake();
  index.Add(0x5000, 0x1000, high);
  index.Add(0x2000, 0x2000, low);
  EXPECT_EQ(index.Find(0x2000), low);
  EXPECT_EQ(index.Find(0x3FFF), low);
  EXPECT_EQ(index.Find(0x5FFF), high);
  for (const uint64_t outside : {0x1FFFul, 0x4000ul, 0x4FFFul, 0x6000ul, 0ul}) {
    EXPECT_EQ(index.Find(outside), nullptr) << outside;
  }
}

TEST(ArenaIndexTest, MostNumbersAreNotLookedUp) {
  ArenaIndex index;
  EXPECT_FALSE(index.MayContain(0));
  EXPECT_FALSE(index.MayContain(0x2000));
  index.Add(0x2000, 0x1000, Fake());
  EXPECT_FALSE(index.MayContain(0x1FFF));
  EXPECT_TRUE(index.MayContain(0x2000));
  EXPECT_TRUE(index.MayContain(0x2FFF));
  EXPECT_FALSE(index.MayContain(0x3000));
}

TEST(ArenaIndexTest, KeepsNoArenaAndForgetsThoseThatEnd) {
  ArenaIndex index;
  auto arena = Fake();
  index.Add(0x2000, 0x1000, arena);
  arena.reset();
  EXPECT_EQ(index.Find(0x2800), nullptr);
  index.Remove(0x2000);
  arena = Fake();
  index.Add(0x2000, 0x800, arena);
  EXPECT_EQ(index.Find(0x27FF), arena);
  EXPECT_EQ(index.Find(0x2800), nullptr);
}

}  // namespace
}  // namespace holdfast
