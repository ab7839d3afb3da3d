// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/fair_share.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"

namespace holdfast {
namespace {

// As much as a client gets, one by one.
uint64_t TakeAll(FairShare& share, const std::string& client) {
  while (share.Take(client, 1).ok()) {
  }
  return share.HeldBy(client);
}

TEST(FairShareTest, OneClientLeavesHalfAndTheNextHalfOfThat) {
  FairShare share("places", 16);
  EXPECT_EQ(TakeAll(share, "a"), 8u);
  EXPECT_EQ(TakeAll(share, "b"), 4u);
  EXPECT_EQ(TakeAll(share, "c"), 2u);
  EXPECT_EQ(TakeAll(share, "d"), 1u);
  EXPECT_EQ(TakeAll(share, "e"), 1u);
  EXPECT_EQ(share.used(), 16u);
}

TEST(FairShareTest, TheSmallestCapacityIsOfUse) {
  FairShare share("places", 1);
  EXPECT_TRUE(share.Take("a", 1).ok());
  const absl::Status full = share.Take("b", 1);
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_TRUE(absl::StrContains(full.message(), "0 of 1 are free")) << full;
  share.Return("a", 1);
  EXPECT_TRUE(share.Take("b", 1).ok());
}

TEST(FairShareTest, AmountsThatWouldOverflowAreRefused) {
  FairShare share("bytes", 100);
  EXPECT_FALSE(share.Take("a", ~uint64_t{0}).ok());
  EXPECT_TRUE(share.Take("a", 50).ok());
  EXPECT_FALSE(share.Take("a", ~uint64_t{0} - 10).ok());
  EXPECT_FALSE(share.Take("a", 1).ok());
  EXPECT_EQ(share.used(), 50u);
}

TEST(FairShareTest, AHoldReturnsAllThatItTook) {
  FairShare share("bytes", 100);
  {
    ShareHold hold(share, "a");
    EXPECT_TRUE(hold.Take(10).ok());
    EXPECT_TRUE(hold.Take(20).ok());
    EXPECT_FALSE(hold.Take(60).ok());
    EXPECT_EQ(share.used(), 30u);
  }
  EXPECT_EQ(share.used(), 0u);
  EXPECT_EQ(share.HeldBy("a"), 0u);
}

}  // namespace
}  // namespace holdfast
