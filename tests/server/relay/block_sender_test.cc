// SPDX-License-Identifier: Apache-2.0
#include "server/relay/block_sender.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "server/relay/relayed_message.h"
#include "tests/server/relay/both_ends.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

constexpr size_t kSize = BlockSender::kLeastBytes;

class BlockSenderTest : public BothEndsTest {
 protected:
  static std::optional<grpc::ByteBuffer> Send(BlockSender& sender,
                                              size_t size = kSize) {
    return sender.Send(size,
                       [&](char* bytes) { std::memset(bytes, 'x', size); });
  }

  // Blocks of the sending end.
  size_t Free() {
    const std::vector<SharedBlocks::Block> free = TakeAll(*executor_);
    for (const SharedBlocks::Block& block : free) executor_->GiveBack(block);
    return free.size();
  }
};

TEST_F(BlockSenderTest, BytesArrive) {
  BlockSender sender(executor_);
  const auto message = Send(sender);
  ASSERT_TRUE(message.has_value());
  ASSERT_OK_AND_ASSIGN(const Relayed read, ReadRelayed(daemon_, *message));
  const auto& slice = absl::get<grpc::Slice>(read);
  EXPECT_EQ(std::string(slice.begin(), slice.end()), std::string(kSize, 'x'));
}

TEST_F(BlockSenderTest, WhatIsTooSmallOrTooLargeIsSentAsItIs) {
  BlockSender sender(executor_);
  EXPECT_FALSE(Send(sender, kSize - 1).has_value());
  EXPECT_FALSE(Send(sender, SharedBlocks::kBlockBytes + 1).has_value());
  EXPECT_EQ(Free(), SharedBlocks::kBlocks);
}

TEST_F(BlockSenderTest, OneCallLeavesBlocksToOthers) {
  BlockSender sender(executor_);
  for (size_t i = 0; i < BlockSender::kMaxBlocks; ++i) {
    EXPECT_TRUE(Send(sender).has_value());
  }
  EXPECT_FALSE(Send(sender).has_value());
  EXPECT_EQ(Free(), SharedBlocks::kBlocks - BlockSender::kMaxBlocks);
}

TEST_F(BlockSenderTest, RoomComesWithTheFirstBlockThatIsReturned) {
  BlockSender sender(executor_);
  const auto first = Send(sender);
  for (size_t i = 1; i < BlockSender::kMaxBlocks; ++i) (void)Send(sender);
  EXPECT_FALSE(Send(sender).has_value());
  std::thread reader([&] { EXPECT_OK(ReadRelayed(daemon_, *first)); });
  EXPECT_TRUE(sender.AwaitRoom({}));
  reader.join();
  EXPECT_TRUE(Send(sender).has_value());
}

TEST_F(BlockSenderTest, ACancelledCallWaitsForNoReader) {
  std::stop_source call;
  {
    BlockSender sender(executor_);
    EXPECT_TRUE(sender.AwaitRoom(call.get_token()));
    for (size_t i = 0; i < BlockSender::kMaxBlocks; ++i) (void)Send(sender);
    std::thread client([&] { call.request_stop(); });
    EXPECT_FALSE(sender.AwaitRoom(call.get_token()));
    client.join();
  }
  EXPECT_EQ(Free(), SharedBlocks::kBlocks);
}

TEST_F(BlockSenderTest, ACallThatNobodyReadsKeepsNoBlock) {
  {
    BlockSender sender(executor_);
    (void)Send(sender);
    (void)Send(sender);
  }
  EXPECT_EQ(Free(), SharedBlocks::kBlocks);
}

TEST_F(BlockSenderTest, WhatIsStillReadWhenTheCallHasEndedStaysTaken) {
  std::optional<grpc::ByteBuffer> message;
  {
    BlockSender sender(executor_);
    message = Send(sender);
    sender.Leave();
  }
  EXPECT_EQ(Free(), SharedBlocks::kBlocks - 1);
  ASSERT_OK(ReadRelayed(daemon_, *message));
  EXPECT_EQ(Free(), SharedBlocks::kBlocks);
}

}  // namespace
}  // namespace holdfast
