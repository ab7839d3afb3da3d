// SPDX-License-Identifier: Apache-2.0
//
// The daemon's part; the executor's is played with the messages themselves.
#include "server/relay/transfer_relay.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <string>
#include <thread>

#include "proto/chunk.h"
#include "server/relay/relayed_message.h"
#include "server/relay/sent_blocks.h"
#include "tests/server/relay/both_ends.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using testing::StatusIs;

std::string TextOf(const ChunkData& data) {
  std::string text(data.size(), '\0');
  data.CopyTo(text.data());
  return text;
}

class TransferRelayTest : public BothEndsTest {
 protected:
  grpc::ByteBuffer Up(UploadRelay& relay) {
    return relay.Relay(MakeUploadData(grpc::Slice(bytes_)), {});
  }

  const std::string bytes_ = std::string(100'000, 'a') + std::string(999, 'b');
};

TEST_F(TransferRelayTest, UploadedBytesAreInBlocks) {
  UploadRelay relay(daemon_);
  for (size_t i = 0; i < 2 * SharedBlocks::kDaemonBlocks; ++i) {
    ASSERT_OK_AND_ASSIGN(const Relayed read, ReadRelayed(executor_, Up(relay)));
    const auto& slice = absl::get<grpc::Slice>(read);
    EXPECT_EQ(std::string(slice.begin(), slice.end()), bytes_);
  }
}

TEST_F(TransferRelayTest, AnUploadWaitsForItsOwnBlocks) {
  UploadRelay relay(daemon_);
  const grpc::ByteBuffer first = Up(relay);
  for (size_t i = 1; i < SentBlocks::kMaxBlocks; ++i) (void)Up(relay);
  std::thread executor([&] { EXPECT_OK(ReadRelayed(executor_, first)); });
  ASSERT_OK_AND_ASSIGN(const Relayed read, ReadRelayed(executor_, Up(relay)));
  executor.join();
  EXPECT_TRUE(absl::holds_alternative<grpc::Slice>(read));
}

TEST_F(TransferRelayTest, AnUploadWithoutBlocksOfItsOwnWaitsForNobody) {
  const auto taken = TakeAll(*daemon_);
  UploadRelay relay(daemon_);
  ASSERT_OK_AND_ASSIGN(const Relayed read, ReadRelayed(executor_, Up(relay)));
  ASSERT_OK_AND_ASSIGN(const UploadPart part,
                       ReadUploadRequest(absl::get<grpc::ByteBuffer>(read)));
  EXPECT_EQ(TextOf(absl::get<ChunkData>(part)), bytes_);
}

TEST_F(TransferRelayTest, AnUploadThatHasEndedWaitsForNobody) {
  UploadRelay relay(daemon_);
  for (size_t i = 0; i < SentBlocks::kMaxBlocks; ++i) (void)Up(relay);
  std::stop_source ended;
  std::thread end([&] { ended.request_stop(); });
  (void)relay.Relay(MakeUploadData(grpc::Slice(bytes_)), ended.get_token());
  end.join();
}

TEST_F(TransferRelayTest, HeadersAndWhatIsNoMessageGoAsTheyAre) {
  UploadRelay relay(daemon_);
  v1::TransferRange range;
  range.set_size(77);
  const grpc::Slice garbage(std::string(100'000, '\xff'));
  const grpc::Slice large(std::string(SharedBlocks::kBlockBytes + 1, 'l'));
  for (const grpc::ByteBuffer& message :
       {MakeUploadHeader(range), grpc::ByteBuffer(&garbage, 1),
        MakeUploadData(large)}) {
    ASSERT_OK_AND_ASSIGN(const Relayed read,
                         ReadRelayed(executor_, relay.Relay(message, {})));
    ASSERT_TRUE(absl::holds_alternative<grpc::ByteBuffer>(read));
    EXPECT_EQ(absl::get<grpc::ByteBuffer>(read).Length(), message.Length());
  }
}

// A client's message that looks like a block is still a client's message.
TEST_F(TransferRelayTest, AClientCannotNameABlock) {
  const auto block = daemon_->Take(5);
  UploadRelay relay(daemon_);
  ASSERT_OK_AND_ASSIGN(
      const Relayed read,
      ReadRelayed(executor_, relay.Relay(RelayBlock(*block), {})));
  EXPECT_TRUE(absl::holds_alternative<grpc::ByteBuffer>(read));
}

TEST_F(TransferRelayTest, DownloadedBytesBecomeTheClientsMessage) {
  const auto block = executor_->Take(bytes_.size());
  bytes_.copy(executor_->data(*block), bytes_.size());
  for (const grpc::ByteBuffer& message :
       {RelayBlock(*block),
        RelayWhole(MakeDownloadData(grpc::Slice(bytes_)))}) {
    ASSERT_OK_AND_ASSIGN(const grpc::ByteBuffer down,
                         RelayDownload(daemon_, message));
    ASSERT_OK_AND_ASSIGN(const ChunkData data, ReadDownloadResponse(down));
    EXPECT_EQ(TextOf(data), bytes_);
  }
  EXPECT_FALSE(executor_->IsTaken(*block));
}

TEST_F(TransferRelayTest, WhatAnExecutorMayNotSendIsAnError) {
  const auto daemons = daemon_->Take(5);
  for (const SharedBlocks::Block& block :
       {SharedBlocks::Block{.index = 63, .ticket = 7, .size = 5}, *daemons}) {
    EXPECT_THAT(RelayDownload(daemon_, RelayBlock(block)),
                StatusIs(absl::StatusCode::kInvalidArgument, "not taken"));
  }
}

TEST_F(TransferRelayTest, AnUploadThatEndsEarlyKeepsNoBlock) {
  {
    UploadRelay relay(daemon_);
    (void)Up(relay);
  }
  EXPECT_EQ(TakeAll(*daemon_).size(), SharedBlocks::kDaemonBlocks);
}

}  // namespace
}  // namespace holdfast
