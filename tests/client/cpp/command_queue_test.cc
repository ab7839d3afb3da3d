// SPDX-License-Identifier: Apache-2.0
//
// The queue with a doorbell, whose other end is the test's.
#include "client/cpp/command_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/doorbell.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "tests/client/cpp/fake_daemon.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

class DoorbellQueueTest : public ::testing::Test {
 protected:
  DoorbellQueueTest() {
    const auto memory = Doorbell::CreateMemory();
    auto mine = Doorbell::Map(memory->get(), Doorbell::End::kClient);
    auto executors = Doorbell::Map(memory->get(), Doorbell::End::kExecutor);
    executor_ = *std::move(executors);
    daemon_.OnResults([this] { rings_ ? executor_->Ring() : void(); });
    CommandQueue::Options options;
    options.token = "token";
    options.doorbell = *std::move(mine);
    options.doorbell_token = "00";
    queue_.emplace(grpc::CreateChannel(daemon_.address(),
                                       grpc::InsecureChannelCredentials()),
                   std::move(options));
  }

  absl::Status Fence() {
    return queue_->Call([](v1::Command& command) { command.mutable_fence(); })
        .status();
  }

  std::atomic<bool> rings_{true};
  std::optional<Doorbell> executor_;
  FakeDaemon daemon_;
  std::optional<CommandQueue> queue_;
};

TEST_F(DoorbellQueueTest, RingsForEachBatch) {
  ASSERT_OK(Fence());
  ASSERT_OK(Fence());
  EXPECT_EQ(executor_->rung(), 2);
}

TEST_F(DoorbellQueueTest, ResultsComeFromAnExecutorThatNeverRings) {
  rings_ = false;
  for (int i = 0; i < 20; ++i) ASSERT_OK(Fence());
}

TEST_F(DoorbellQueueTest, ThreadsThatWaitGetEachTheirOwnResults) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 50; ++i) EXPECT_OK(Fence());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// As one that is killed between ringing and writing: by the time that the first
// fence's results are read, more are expected.
TEST_F(DoorbellQueueTest, AnExecutorThatRangAndDiedIsNoticed) {
  for (int i = 0; i < 10; ++i) executor_->Ring();
  ASSERT_OK(Fence());
  daemon_.LoseExecutor("killed");
  EXPECT_THAT(Fence(), testing::StatusIs(absl::StatusCode::kUnavailable, ""));
}

TEST_F(DoorbellQueueTest, ClosesThoughTheExecutorRangForNothing) {
  for (int i = 0; i < 10; ++i) executor_->Ring();
  ASSERT_OK(Fence());
  queue_->Close();
  EXPECT_THAT(Fence(), testing::StatusIs(absl::StatusCode::kCancelled, ""));
}

}  // namespace
}  // namespace holdfast
