// SPDX-License-Identifier: Apache-2.0
#include "server/relay/relayed_message.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/relay/both_ends.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using testing::StatusIs;

grpc::ByteBuffer BufferOf(const std::vector<std::string>& pieces) {
  std::vector<grpc::Slice> slices(pieces.begin(), pieces.end());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string TextOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (buffer.Valid()) {
    EXPECT_TRUE(buffer.Dump(&slices).ok());
  }
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

using RelayedMessageTest = BothEndsTest;

TEST_F(RelayedMessageTest, WholeMessagesArriveHoweverTheyAreCut) {
  for (const std::vector<std::string>& pieces :
       {std::vector<std::string>{"message"},
        {"me", "ssage"},
        {"", "message"},
        {}}) {
    const grpc::ByteBuffer relayed = RelayWhole(BufferOf(pieces));
    const std::string text = TextOf(relayed);
    for (const grpc::ByteBuffer& buffer :
         {relayed, BufferOf({text}),
          BufferOf({"", text.substr(0, 1), text.substr(1)})}) {
      ASSERT_OK_AND_ASSIGN(const Relayed read, ReadRelayed(executor_, buffer));
      ASSERT_TRUE(absl::holds_alternative<grpc::ByteBuffer>(read));
      EXPECT_EQ(TextOf(absl::get<grpc::ByteBuffer>(read)),
                pieces.empty() ? "" : "message");
    }
  }
}

TEST_F(RelayedMessageTest, ABlockIsGivenBackWhenItsSliceIsDropped) {
  const auto block = daemon_->Take(5);
  std::memcpy(daemon_->data(*block), "bytes", 5);
  {
    ASSERT_OK_AND_ASSIGN(const Relayed read,
                         ReadRelayed(executor_, RelayBlock(*block)));
    const auto& slice = absl::get<grpc::Slice>(read);
    EXPECT_EQ(std::string(slice.begin(), slice.end()), "bytes");
    EXPECT_TRUE(daemon_->IsTaken(*block));
  }
  EXPECT_FALSE(daemon_->IsTaken(*block));
}

TEST_F(RelayedMessageTest, WhatIsNeitherIsAnError) {
  const auto block = daemon_->Take(5);
  const std::string named = TextOf(RelayBlock(*block));
  std::string other = named;
  other[1] = static_cast<char>(200);  // the index
  for (const std::string& text :
       {std::string(), std::string("\0", 1), std::string("\3rest"), other,
        named.substr(0, 5), named + "more"}) {
    EXPECT_THAT(ReadRelayed(executor_, BufferOf({text})),
                StatusIs(absl::StatusCode::kInvalidArgument, ""))
        << text.size();
  }
  daemon_->GiveBack(*block);
  EXPECT_THAT(ReadRelayed(executor_, BufferOf({named})),
              StatusIs(absl::StatusCode::kInvalidArgument, "not taken"));
}

}  // namespace
}  // namespace holdfast
