// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/attach/unacknowledged.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast {
namespace {

std::vector<uint64_t> Firsts(const Unacknowledged& kept) {
  std::vector<uint64_t> firsts;
  for (const auto& batch : kept.batches()) {
    firsts.push_back(batch.first_sequence);
  }
  return firsts;
}

using Numbers = std::vector<uint64_t>;

TEST(UnacknowledgedTest, WhatHasArrivedIsForgottenAndTheRestKeepsItsOrder) {
  Unacknowledged kept;
  ASSERT_TRUE(kept.Add("\x08\x01 one"));
  ASSERT_TRUE(kept.Add("\x08\x05 five"));
  ASSERT_TRUE(kept.Add("\x08\x96\x01 hundred and fifty"));
  EXPECT_EQ(Firsts(kept), (Numbers{1, 5, 150}));
  // The second batch, which begins at 5, has not.
  kept.Acknowledge(4);
  EXPECT_EQ(Firsts(kept), (Numbers{5, 150}));
  // As a whole or not at all.
  kept.Acknowledge(149);
  EXPECT_EQ(Firsts(kept), (Numbers{150}));
  EXPECT_EQ(kept.batches().front().bytes, "\x08\x96\x01 hundred and fifty");
  EXPECT_EQ(kept.bytes(), kept.batches().front().bytes.size());
  kept.Acknowledge(200);
  EXPECT_TRUE(kept.batches().empty());
  EXPECT_EQ(kept.bytes(), 0u);
}

TEST(UnacknowledgedTest, OldNewsChangeNothing) {
  Unacknowledged kept;
  ASSERT_TRUE(kept.Add("\x08\x05"));
  kept.Acknowledge(0);
  kept.Acknowledge(4);
  EXPECT_EQ(Firsts(kept), (Numbers{5}));
}

TEST(UnacknowledgedTest, BytesThatAreNoBatchAreRefused) {
  Unacknowledged kept;
  for (const absl::string_view bytes :
       {absl::string_view(), absl::string_view("\x12\x01"),
        absl::string_view("\x08"), absl::string_view("\x08\xff\xff"),
        absl::string_view(
            "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}) {
    EXPECT_FALSE(kept.Add(bytes));
  }
  EXPECT_TRUE(kept.batches().empty());
}

}  // namespace
}  // namespace holdfast
