// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/transfer_channels.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"

namespace holdfast {
namespace {

using ChannelPtr = std::shared_ptr<grpc::Channel>;

class TransferChannelsTest : public ::testing::Test {
 protected:
  int connections_ = 0;
  // Channels connect when they are used first: nobody needs to listen.
  TransferChannels channels_{[this]() -> absl::StatusOr<ChannelPtr> {
    ++connections_;
    return grpc::CreateChannel("unix:/nonexistent",
                               grpc::InsecureChannelCredentials());
  }};
};

TEST_F(TransferChannelsTest, CallsAtOnceHaveConnectionsOfTheirOwn) {
  std::vector<ChannelPtr> taken;
  std::set<grpc::Channel*> different;
  for (int i = 0; i < 8; ++i) {
    taken.push_back(*channels_.Take());
    different.insert(taken.back().get());
  }
  EXPECT_EQ(different.size(), 8u);
}

TEST_F(TransferChannelsTest, AConnectionIsUsedAgain) {
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(channels_.Take().ok());
  EXPECT_EQ(connections_, 1);
}

TEST_F(TransferChannelsTest, TheirNumberIsBoundedAndTheyAreSharedEvenly) {
  std::vector<ChannelPtr> taken;
  std::multiset<grpc::Channel*> uses;
  for (size_t i = 0; i < 3 * TransferChannels::kMaxChannels; ++i) {
    taken.push_back(*channels_.Take());
    uses.insert(taken.back().get());
  }
  EXPECT_EQ(connections_, static_cast<int>(TransferChannels::kMaxChannels));
  for (grpc::Channel* channel : uses) EXPECT_EQ(uses.count(channel), 3u);
}

TEST(TransferChannelsFailureTest, AConnectionThatFailsIsTriedAgain) {
  int tries = 0;
  TransferChannels channels([&tries]() -> absl::StatusOr<ChannelPtr> {
    ++tries;
    return absl::UnavailableError("nobody answers");
  });
  for (size_t i = 0; i < 2 * TransferChannels::kMaxChannels; ++i) {
    EXPECT_TRUE(absl::IsUnavailable(channels.Take().status()));
  }
  EXPECT_EQ(tries, static_cast<int>(2 * TransferChannels::kMaxChannels));
}

}  // namespace
}  // namespace holdfast
