// SPDX-License-Identifier: Apache-2.0
//
// The daemon's part; the executor's is played with the messages themselves.
#include "server/relay/transfer_relay.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "proto/chunk.h"
#include "server/relay/relayed_message.h"
#include "tests/server/relay/both_ends.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using testing::StatusIs;
using Direction = TransferRelay::Direction;

std::string TextOf(const ChunkData& data) {
  std::string text(data.size(), '\0');
  data.CopyTo(text.data());
  return text;
}

class TransferRelayTest : public BothEndsTest {
 protected:
  const std::string bytes_ = std::string(100'000, 'a') + std::string(999, 'b');
};

TEST_F(TransferRelayTest, UploadedBytesGoThroughBlocksAsLongAsThereAreSome) {
  TransferRelay relay(Direction::kUpload, daemon_);
  std::vector<grpc::ByteBuffer> messages;
  for (size_t i = 0; i < BlockSender::kMaxBlocks + 2; ++i) {
    messages.push_back(relay.Up(MakeUploadData(grpc::Slice(bytes_))));
  }
  size_t whole = 0;
  for (const grpc::ByteBuffer& message : messages) {
    ASSERT_OK_AND_ASSIGN(const Relayed read, ReadRelayed(executor_, message));
    if (const auto* slice = absl::get_if<grpc::Slice>(&read)) {
      EXPECT_EQ(std::string(slice->begin(), slice->end()), bytes_);
      continue;
    }
    ++whole;
    ASSERT_OK_AND_ASSIGN(const UploadPart part,
                         ReadUploadRequest(absl::get<grpc::ByteBuffer>(read)));
    EXPECT_EQ(TextOf(absl::get<ChunkData>(part)), bytes_);
  }
  EXPECT_EQ(whole, 2u);
}

TEST_F(TransferRelayTest, HeadersAndWhatIsNoMessageGoAsTheyAre) {
  TransferRelay relay(Direction::kUpload, daemon_);
  v1::TransferRange range;
  range.set_size(77);
  const grpc::Slice garbage(std::string(100'000, '\xff'));
  for (const grpc::ByteBuffer& message :
       {MakeUploadHeader(range), grpc::ByteBuffer(&garbage, 1)}) {
    ASSERT_OK_AND_ASSIGN(const Relayed read,
                         ReadRelayed(executor_, relay.Up(message)));
    ASSERT_TRUE(absl::holds_alternative<grpc::ByteBuffer>(read));
    EXPECT_EQ(absl::get<grpc::ByteBuffer>(read).Length(), message.Length());
  }
}

// A client's message that looks like a block is still a client's message.
TEST_F(TransferRelayTest, AClientCannotNameABlock) {
  const auto block = daemon_->Take(5);
  TransferRelay relay(Direction::kUpload, daemon_);
  ASSERT_OK_AND_ASSIGN(const Relayed read,
                       ReadRelayed(executor_, relay.Up(RelayBlock(*block))));
  EXPECT_TRUE(absl::holds_alternative<grpc::ByteBuffer>(read));
}

TEST_F(TransferRelayTest, DownloadedBytesBecomeTheClientsMessage) {
  TransferRelay relay(Direction::kDownload, daemon_);
  BlockSender sender(executor_);
  const auto sent = sender.Send(
      bytes_.size(), [&](char* block) { bytes_.copy(block, bytes_.size()); });
  ASSERT_TRUE(sent.has_value());
  for (const grpc::ByteBuffer& message :
       {*sent, RelayWhole(MakeDownloadData(grpc::Slice(bytes_)))}) {
    ASSERT_OK_AND_ASSIGN(const grpc::ByteBuffer down, relay.Down(message));
    ASSERT_OK_AND_ASSIGN(const ChunkData data, ReadDownloadResponse(down));
    EXPECT_EQ(TextOf(data), bytes_);
  }
}

TEST_F(TransferRelayTest, WhatAnExecutorMayNotSendIsAnError) {
  TransferRelay relay(Direction::kDownload, daemon_);
  EXPECT_THAT(relay.Down(RelayBlock({.index = 63, .ticket = 7, .size = 5})),
              StatusIs(absl::StatusCode::kInvalidArgument, "not taken"));
}

TEST_F(TransferRelayTest, AnUploadThatEndsEarlyKeepsNoBlock) {
  {
    TransferRelay relay(Direction::kUpload, daemon_);
    (void)relay.Up(MakeUploadData(grpc::Slice(bytes_)));
  }
  EXPECT_EQ(TakeAll(*daemon_).size(), SharedBlocks::kBlocks);
}

}  // namespace
}  // namespace holdfast
