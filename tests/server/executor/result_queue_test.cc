// SPDX-License-Identifier: Apache-2.0
#include "server/executor/submission/result_queue.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace holdfast::executor {
namespace {

v1::Result Numbered(uint64_t sequence) {
  v1::Result result;
  result.set_sequence(sequence);
  result.mutable_done();
  return result;
}

TEST(ResultQueueTest, ResultsComeInOrderAndThenTheEnd) {
  ResultQueue queue;
  queue.Add(Numbered(1));
  queue.AddError(2, absl::NotFoundError("x"));
  queue.Finish();
  v1::ResultBatch batch;
  ASSERT_TRUE(queue.Take(&batch));
  ASSERT_EQ(batch.results_size(), 2);
  EXPECT_EQ(batch.results(0).sequence(), 1u);
  EXPECT_EQ(batch.results(1).error().message(), "x");
  EXPECT_FALSE(queue.Take(&batch));
}

TEST(ResultQueueTest, NothingIsBeingSentAfterTheEnd) {
  ResultQueue queue;
  queue.Finish();
  v1::ResultBatch batch;
  EXPECT_FALSE(queue.Take(&batch));
  queue.AwaitSent(absl::InfiniteDuration());
}

TEST(ResultQueueTest, TheEndWaitsForWhatIsOwed) {
  auto queue = std::make_shared<ResultQueue>();
  queue->Expect();
  auto hold = ResultQueue::Hold(queue);
  queue->Finish();
  std::thread late([queue, &hold] {
    hold.reset();
    queue->Deliver(Numbered(7));
  });
  v1::ResultBatch batch;
  ASSERT_TRUE(queue->Take(&batch));
  EXPECT_EQ(batch.results(0).sequence(), 7u);
  EXPECT_FALSE(queue->Take(&batch));
  late.join();
}

TEST(ResultQueueTest, WhatCanBeSentAtOnceIsNotKept) {
  ResultQueue queue;
  std::vector<uint64_t> sent;
  bool can = true;
  queue.SendDirectly([&](const v1::ResultBatch& batch) {
    if (can) sent.push_back(batch.results(0).sequence());
    return can;
  });
  queue.Add(Numbered(1));
  queue.Expect();
  queue.Deliver(Numbered(2));
  EXPECT_EQ(sent, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(queue.waiting(), 0u);
  can = false;
  queue.Add(Numbered(3));
  EXPECT_EQ(queue.waiting(), 1u);
}

// A failure is never told after the fence that counts it.
TEST(ResultQueueTest, NothingOvertakesWhatWaitsOrIsBeingSent) {
  ResultQueue queue;
  std::vector<uint64_t> sent;
  bool can = false;
  queue.SendDirectly([&](const v1::ResultBatch& batch) {
    if (can) sent.push_back(batch.results(0).sequence());
    return can;
  });
  queue.Add(Numbered(1));
  can = true;
  queue.Add(Numbered(2));  // Behind one that waits.
  v1::ResultBatch batch;
  ASSERT_TRUE(queue.Take(&batch));
  EXPECT_EQ(batch.results_size(), 2);
  queue.Add(Numbered(3));  // Behind two that are being sent.
  EXPECT_TRUE(sent.empty());
  ASSERT_TRUE(queue.Take(&batch));
  EXPECT_EQ(batch.results(0).sequence(), 3u);
}

// A thread that waits for room is woken, though nothing takes results.
TEST(ResultQueueTest, RoomComesWithResultsThatAreSentAtOnce) {
  ResultQueue queue;
  queue.SendDirectly([](const v1::ResultBatch&) { return true; });
  for (size_t i = 0; i < ResultQueue::kMaxWaiting; ++i) queue.Expect();
  bool told = false;
  ASSERT_FALSE(queue.HasRoom([&] { told = true; }));
  queue.Deliver(Numbered(1));
  EXPECT_TRUE(told);
}

TEST(ResultQueueTest, LargeResultsAreSentInSeveralBatches) {
  ResultQueue queue;
  for (int i = 0; i < 100; ++i) {
    v1::Result result;
    result.set_sequence(i + 1);
    result.set_data(std::string(60000, 'x'));
    queue.Add(std::move(result));
  }
  queue.Finish();
  uint64_t next = 1;
  int batches = 0;
  for (v1::ResultBatch batch; queue.Take(&batch); ++batches) {
    EXPECT_LT(batch.ByteSizeLong(), size_t{2} << 20);
    for (const v1::Result& result : batch.results()) {
      EXPECT_EQ(result.sequence(), next++);
    }
  }
  EXPECT_EQ(next, 101u);
  EXPECT_GT(batches, 1);
}

TEST(ResultQueueTest, AnAbandonedQueueTakesNothingAndHoldsNobody) {
  auto queue = std::make_shared<ResultQueue>();
  for (size_t i = 0; i < ResultQueue::kMaxWaiting; ++i) {
    queue->Add(Numbered(i + 1));
  }
  std::thread reader([queue] { EXPECT_FALSE(queue->AwaitRoom()); });
  queue->Abandon();
  reader.join();
  queue->Add(Numbered(1));
  queue->Finish();
  v1::ResultBatch batch;
  EXPECT_FALSE(queue->Take(&batch));
}

TEST(ResultQueueTest, RoomComesBackWhenResultsAreTaken) {
  auto queue = std::make_shared<ResultQueue>();
  for (size_t i = 0; i < ResultQueue::kMaxWaiting; ++i) {
    queue->Add(Numbered(i + 1));
  }
  std::thread reader([queue] { EXPECT_TRUE(queue->AwaitRoom()); });
  v1::ResultBatch batch;
  ASSERT_TRUE(queue->Take(&batch));
  reader.join();
}

TEST(ResultQueueTest, PromisedBytesCountAsIfTheyWereThere) {
  ResultQueue queue;
  bool announced = false;
  const auto announce = [&announced] { announced = true; };
  queue.Expect(ResultQueue::kMaxWaitingBytes - 1);
  EXPECT_TRUE(queue.HasRoom(announce));
  queue.Expect(1);
  EXPECT_FALSE(queue.HasRoom(announce));
  v1::Result large;
  large.set_sequence(1);
  large.set_data(std::string(ResultQueue::kMaxWaitingBytes - 1, 'x'));
  queue.Deliver(std::move(large), ResultQueue::kMaxWaitingBytes - 1);
  EXPECT_FALSE(announced);
  v1::ResultBatch batch;
  ASSERT_TRUE(queue.Take(&batch));
  EXPECT_TRUE(announced);
  EXPECT_EQ(queue.waiting(), 1u);
  EXPECT_EQ(queue.waiting_bytes(), 1u);
}

TEST(ResultQueueTest, AnAbandonedQueueHasRoomForWhatItDrops) {
  ResultQueue queue;
  bool announced = false;
  for (size_t i = 0; i < ResultQueue::kMaxWaiting; ++i) {
    queue.Add(Numbered(i + 1));
  }
  EXPECT_FALSE(queue.HasRoom([&announced] { announced = true; }));
  queue.Abandon();
  EXPECT_TRUE(announced);
  EXPECT_TRUE(queue.HasRoom([] {}));
  EXPECT_EQ(queue.waiting(), 0u);
  EXPECT_EQ(queue.waiting_bytes(), 0u);
}

}  // namespace
}  // namespace holdfast::executor
