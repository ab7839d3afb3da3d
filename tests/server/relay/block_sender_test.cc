// SPDX-License-Identifier: Apache-2.0
#include "server/relay/block_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "server/relay/relayed_message.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

constexpr size_t kSize = BlockSender::kLeastBytes;

class BlockSenderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const UniqueFd memory, SharedBlocks::CreateMemory());
    ASSERT_OK_AND_ASSIGN(
        mine_, SharedBlocks::Map(memory.get(), SharedBlocks::End::kExecutor));
    ASSERT_OK_AND_ASSIGN(
        other_, SharedBlocks::Map(memory.get(), SharedBlocks::End::kDaemon));
  }

  static std::optional<grpc::ByteBuffer> Send(BlockSender& sender,
                                              size_t size = kSize) {
    return sender.Send(size,
                       [&](char* bytes) { std::memset(bytes, 'x', size); });
  }

  size_t Free() {
    std::vector<SharedBlocks::Block> taken;
    while (const auto block = mine_->Take(1)) taken.push_back(*block);
    for (const SharedBlocks::Block& block : taken) mine_->GiveBack(block);
    return taken.size();
  }

  std::shared_ptr<SharedBlocks> mine_;
  std::shared_ptr<SharedBlocks> other_;
};

TEST_F(BlockSenderTest, BytesArrive) {
  BlockSender sender(mine_);
  const auto message = Send(sender);
  ASSERT_TRUE(message.has_value());
  ASSERT_OK_AND_ASSIGN(const Relayed read, ReadRelayed(other_, *message));
  const auto& slice = absl::get<grpc::Slice>(read);
  EXPECT_EQ(std::string(slice.begin(), slice.end()), std::string(kSize, 'x'));
}

TEST_F(BlockSenderTest, WhatIsTooSmallOrTooLargeIsSentAsItIs) {
  BlockSender sender(mine_);
  EXPECT_FALSE(Send(sender, kSize - 1).has_value());
  EXPECT_FALSE(Send(sender, SharedBlocks::kBlockBytes + 1).has_value());
  EXPECT_EQ(Free(), SharedBlocks::kBlocks);
}

TEST_F(BlockSenderTest, OneCallLeavesBlocksToOthers) {
  BlockSender sender(mine_);
  for (size_t i = 0; i < BlockSender::kMaxBlocks; ++i) {
    EXPECT_TRUE(Send(sender).has_value());
  }
  EXPECT_FALSE(Send(sender).has_value());
  EXPECT_EQ(Free(), SharedBlocks::kBlocks - BlockSender::kMaxBlocks);
}

TEST_F(BlockSenderTest, RoomComesWithTheFirstBlockThatIsReturned) {
  BlockSender sender(mine_);
  const auto first = Send(sender);
  for (size_t i = 1; i < BlockSender::kMaxBlocks; ++i) (void)Send(sender);
  EXPECT_FALSE(sender.AwaitRoom(absl::ZeroDuration()));
  ASSERT_OK(ReadRelayed(other_, *first));
  EXPECT_TRUE(sender.AwaitRoom(absl::ZeroDuration()));
  EXPECT_TRUE(Send(sender).has_value());
}

TEST_F(BlockSenderTest, AFailedCallKeepsNoBlock) {
  {
    BlockSender sender(mine_);
    (void)Send(sender);
    (void)Send(sender);
  }
  EXPECT_EQ(Free(), SharedBlocks::kBlocks);
}

TEST_F(BlockSenderTest, WhatIsStillReadWhenTheCallHasEndedStaysTaken) {
  std::optional<grpc::ByteBuffer> message;
  {
    BlockSender sender(mine_);
    message = Send(sender);
    sender.Leave();
  }
  EXPECT_EQ(Free(), SharedBlocks::kBlocks - 1);
  ASSERT_OK(ReadRelayed(other_, *message));
  EXPECT_EQ(Free(), SharedBlocks::kBlocks);
}

}  // namespace
}  // namespace holdfast
