// SPDX-License-Identifier: Apache-2.0
#include "server/relay/shared_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "tests/server/relay/both_ends.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using Block = SharedBlocks::Block;

using SharedBlocksTest = BothEndsTest;

TEST_F(SharedBlocksTest, BytesAndTheirReturnPassBothWays) {
  for (const auto& [from, to] : {std::pair(daemon_.get(), executor_.get()),
                                 std::pair(executor_.get(), daemon_.get())}) {
    const auto block = from->Take(5);
    ASSERT_TRUE(block.has_value());
    std::memcpy(from->data(*block), "bytes", 5);
    ASSERT_TRUE(to->IsTheirs(*block));
    EXPECT_EQ(std::string(to->data(*block), block->size), "bytes");
    EXPECT_TRUE(from->IsTaken(*block));
    to->GiveBack(*block);
    EXPECT_FALSE(from->IsTaken(*block));
    from->AwaitReturn(*block, {});
  }
}

TEST_F(SharedBlocksTest, NeitherEndTakesWhatIsTheOthersOrTaken) {
  EXPECT_EQ(TakeAll(*daemon_).size(), SharedBlocks::kDaemonBlocks);
  const std::vector<Block> all = TakeAll(*executor_);
  EXPECT_EQ(all.size(), SharedBlocks::kExecutorBlocks);
  daemon_->GiveBack(all[3]);
  EXPECT_FALSE(daemon_->Take(1).has_value());
  const auto again = executor_->Take(1);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->index, all[3].index);
}

TEST_F(SharedBlocksTest, AnOldTicketDoesNothingToWhoHasTheBlockNow) {
  const auto first = daemon_->Take(1);
  daemon_->GiveBack(*first);
  const auto second = daemon_->Take(1);
  ASSERT_EQ(first->index, second->index);
  EXPECT_FALSE(executor_->IsTaken(*first));
  executor_->GiveBack(*first);
  EXPECT_TRUE(executor_->IsTaken(*second));
}

TEST_F(SharedBlocksTest, ATicketHoldsNothingInTheMemoryOfASuccessor) {
  const std::vector<Block> before = {*daemon_->Take(1), *executor_->Take(1)};
  SetUp();
  const std::vector<Block> after = {*daemon_->Take(1), *executor_->Take(1)};
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(before[i].index, after[i].index);
    EXPECT_FALSE(daemon_->IsTaken(before[i]));
  }
}

TEST_F(SharedBlocksTest, ClaimsThatAreFalseAreNotTaken) {
  const auto block = daemon_->Take(1);
  for (const Block& claim :
       {Block{SharedBlocks::kDaemonBlocks + SharedBlocks::kExecutorBlocks,
              block->ticket, 1},
        Block{~0u, block->ticket, 1}, Block{block->index, block->ticket + 1, 1},
        Block{block->index, block->ticket, SharedBlocks::kBlockBytes + 1},
        Block{block->index + 1, 0, 1}}) {
    EXPECT_FALSE(executor_->IsTaken(claim));
    executor_->GiveBack(claim);
  }
  EXPECT_TRUE(executor_->IsTaken(*block));
}

TEST_F(SharedBlocksTest, MoreThanABlockHasIsNotTaken) {
  EXPECT_FALSE(daemon_->Take(SharedBlocks::kBlockBytes + 1).has_value());
  EXPECT_TRUE(daemon_->Take(SharedBlocks::kBlockBytes).has_value());
}

TEST_F(SharedBlocksTest, WhoWaitsIsWokenByTheOtherEnd) {
  const auto block = executor_->Take(1);
  std::thread reader([&] { daemon_->GiveBack(*block); });
  executor_->AwaitReturn(*block, {});
  reader.join();
}

TEST_F(SharedBlocksTest, NeitherEndIsToldOfItsOwnBlocks) {
  const auto daemons = daemon_->Take(1);
  EXPECT_TRUE(executor_->IsTheirs(*daemons));
  EXPECT_FALSE(daemon_->IsTheirs(*daemons));
  const auto executors = executor_->Take(1);
  EXPECT_TRUE(daemon_->IsTheirs(*executors));
  EXPECT_FALSE(executor_->IsTheirs(*executors));
}

TEST_F(SharedBlocksTest, ABlockByItsPlaceHasANewTicketEachTime) {
  for (const uint32_t number : {0u, SharedBlocks::kExecutorBlocks - 1}) {
    const Block first = executor_->TakeOwn(number, 5);
    EXPECT_EQ(executor_->data(first),
              executor_->own_data() + number * SharedBlocks::kBlockBytes);
    EXPECT_EQ(daemon_->data(first),
              daemon_->their_data() + number * SharedBlocks::kBlockBytes);
    EXPECT_TRUE(daemon_->IsTheirs(first));
    daemon_->GiveBack(first);
    const Block second = executor_->TakeOwn(number, 5);
    EXPECT_EQ(second.index, first.index);
    EXPECT_FALSE(daemon_->IsTheirs(first));
    EXPECT_TRUE(daemon_->IsTheirs(second));
  }
}

}  // namespace
}  // namespace holdfast
