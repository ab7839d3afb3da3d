// SPDX-License-Identifier: Apache-2.0
#include "server/relay/sent_blocks.h"

#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/server/relay/both_ends.h"

namespace holdfast {
namespace {

class SentBlocksTest : public BothEndsTest {
 protected:
  // Fills it up; the first block.
  SharedBlocks::Block Fill(SentBlocks& sent) {
    std::vector<SharedBlocks::Block> blocks;
    while (!sent.IsFull()) {
      blocks.push_back(*executor_->Take(1));
      sent.Add(blocks.back());
    }
    EXPECT_EQ(blocks.size(), SentBlocks::kMaxBlocks);
    return blocks.front();
  }

  // Blocks of the sending end.
  size_t Free() {
    const std::vector<SharedBlocks::Block> free = TakeAll(*executor_);
    for (const SharedBlocks::Block& block : free) executor_->GiveBack(block);
    return free.size();
  }
};

TEST_F(SentBlocksTest, RoomComesWithTheOldestBlockThatIsReturned) {
  SentBlocks sent(executor_);
  const SharedBlocks::Block first = Fill(sent);
  EXPECT_TRUE(sent.IsFull());
  std::thread reader([&] { daemon_->GiveBack(first); });
  EXPECT_TRUE(sent.AwaitOldest({}));
  reader.join();
  EXPECT_FALSE(sent.IsFull());
  EXPECT_FALSE(sent.IsEmpty());
}

TEST_F(SentBlocksTest, MemoryIsDroppedWithItsBlock) {
  SentBlocks sent(executor_);
  auto memory = std::make_shared<const int>(1);
  const std::weak_ptr<const int> kept = memory;
  const auto block = executor_->Take(1);
  sent.Add(*block, std::move(memory));
  EXPECT_FALSE(sent.IsEmpty());
  EXPECT_FALSE(kept.expired());
  daemon_->GiveBack(*block);
  EXPECT_TRUE(sent.IsEmpty());
  EXPECT_TRUE(kept.expired());
}

TEST_F(SentBlocksTest, ACancelledCallWaitsForNoReader) {
  std::stop_source call;
  {
    SentBlocks sent(executor_);
    Fill(sent);
    std::thread client([&] { call.request_stop(); });
    EXPECT_FALSE(sent.AwaitOldest(call.get_token()));
    client.join();
  }
  EXPECT_EQ(Free(), SharedBlocks::kExecutorBlocks);
}

// An executor can write the words that the daemon waits for.
TEST_F(SentBlocksTest, ACancelledCallIsNotHeldUpByAnEndThatWakesNobody) {
  std::stop_source call;
  SentBlocks sent(executor_);
  Fill(sent);
  std::thread other([&] {
    absl::SleepFor(absl::Milliseconds(50));  // The wait has most likely begun.
    executor_->TakeOwn(0, 1);
    call.request_stop();
  });
  EXPECT_FALSE(sent.AwaitOldest(call.get_token()));
  other.join();
}

TEST_F(SentBlocksTest, ACallThatNobodyReadsKeepsNoBlock) {
  {
    SentBlocks sent(executor_);
    Fill(sent);
  }
  EXPECT_EQ(Free(), SharedBlocks::kExecutorBlocks);
}

}  // namespace
}  // namespace holdfast
