// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/handle_pool.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(HandlePoolTest, AnIndexIsUsedAgainWithAGreaterGeneration) {
  HandlePool pool(8, /*first_generation=*/1);
  const auto first = Handle::Unpack(*pool.Allocate(HandleKind::kBuffer));
  EXPECT_EQ(first.kind, HandleKind::kBuffer);
  EXPECT_EQ(first.generation, 1u);
  pool.Free(first.Pack());
  const auto second = Handle::Unpack(*pool.Allocate(HandleKind::kBuffer));
  EXPECT_EQ(second.index, first.index);
  EXPECT_EQ(second.generation, 2u);
}

TEST(HandlePoolTest, HandlesInUseDiffer) {
  HandlePool pool(8);
  EXPECT_NE(*pool.Allocate(HandleKind::kStream),
            *pool.Allocate(HandleKind::kStream));
}

TEST(HandlePoolTest, TheLimitIsOfEachKind) {
  HandlePool pool(1);
  EXPECT_TRUE(pool.Allocate(HandleKind::kStream).ok());
  const auto second = pool.Allocate(HandleKind::kStream);
  EXPECT_TRUE(absl::IsResourceExhausted(second.status())) << second.status();
  EXPECT_TRUE(pool.Allocate(HandleKind::kEvent).ok());
}

TEST(HandlePoolTest, AnIndexWithoutGenerationsLeftIsNotUsedAgain) {
  HandlePool pool(1);
  ASSERT_TRUE(pool.Allocate(HandleKind::kEvent).ok());
  pool.Free(Handle{HandleKind::kEvent, Handle::kMaxGeneration, 0}.Pack());
  EXPECT_FALSE(pool.Allocate(HandleKind::kEvent).ok());
}

TEST(HandlePoolTest, AHandleOfAnotherClientIsTakenOverOnce) {
  HandlePool pool(8);
  pool.Skip(HandleKind::kBuffer, 3);
  const uint64_t earlier = Handle{HandleKind::kBuffer, 5, 2}.Pack();
  EXPECT_TRUE(pool.Adopt(earlier));
  EXPECT_FALSE(pool.Adopt(earlier));
  pool.Free(earlier);
  EXPECT_FALSE(pool.Adopt(earlier));
  const auto next = Handle::Unpack(*pool.Allocate(HandleKind::kBuffer));
  EXPECT_EQ(next.index, 2u);
  EXPECT_EQ(next.generation, 6u);
  EXPECT_FALSE(pool.Adopt(next.Pack()));
}

TEST(HandlePoolTest, AHandleOfNoOtherClientIsNotTakenOver) {
  HandlePool pool(8);
  pool.Skip(HandleKind::kBuffer, 1);
  EXPECT_FALSE(pool.Adopt(*pool.Allocate(HandleKind::kBuffer)));
  EXPECT_FALSE(pool.Adopt(Handle{HandleKind::kBuffer, 1, 7}.Pack()));
  EXPECT_FALSE(pool.Adopt(Handle{HandleKind::kBuffer, 0, 0}.Pack()));
}

}  // namespace
TEST(HandlePoolTest, HandlesOfTwoSessionsDiffer) {
  HandlePool first(8), second(8);
  for (int use = 0; use < 100; ++use) {
    const uint64_t one = first.Allocate(HandleKind::kBuffer).value();
    const uint64_t other = second.Allocate(HandleKind::kBuffer).value();
    EXPECT_NE(one, other);
    EXPECT_EQ(second.IsFirstOfIndex(other), use == 0);
    first.Free(one);
    second.Free(other);
  }
}

}  // namespace holdfast
