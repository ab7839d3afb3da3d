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
    ASSERT_TRUE(to->IsTaken(*block));
    EXPECT_EQ(std::string(to->data(*block), block->size), "bytes");
    EXPECT_TRUE(from->IsTaken(*block));
    to->GiveBack(*block);
    EXPECT_FALSE(from->IsTaken(*block));
    from->AwaitReturn(*block);
  }
}

TEST_F(SharedBlocksTest, NeitherEndTakesWhatIsTheOthersOrTaken) {
  EXPECT_EQ(TakeAll(*daemon_).size(), SharedBlocks::kBlocks);
  const std::vector<Block> all = TakeAll(*executor_);
  EXPECT_EQ(all.size(), SharedBlocks::kBlocks);
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

TEST_F(SharedBlocksTest, ClaimsThatAreFalseAreNotTaken) {
  const auto block = daemon_->Take(1);
  for (const Block& claim :
       {Block{2 * SharedBlocks::kBlocks, block->ticket, 1},
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
  executor_->AwaitReturn(*block);
  reader.join();
}

// Only time takes such a block back.
TEST_F(SharedBlocksTest, AnAbandonedBlockIsNotTakenAgainWhileItMayBeRead) {
  const std::vector<Block> all = TakeAll(*executor_);
  executor_->Abandon(all[0]);
  EXPECT_FALSE(executor_->Take(1).has_value());
  daemon_->GiveBack(all[0]);
  EXPECT_TRUE(executor_->Take(1).has_value());
}

}  // namespace
}  // namespace holdfast
