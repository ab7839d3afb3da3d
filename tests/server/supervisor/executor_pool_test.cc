// SPDX-License-Identifier: Apache-2.0
//
// With processes that die instead of becoming executors.
#include "server/supervisor/executor_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace holdfast::supervisor {
namespace {

class ExecutorPoolTest : public testing::Test {
 protected:
  ExecutorPool::Options Options(const std::string& script) {
    return {.start =
                [this, script](uint32_t) {
                  ++starts_;
                  return ExecutorProcess::Start(
                      *spawner_, {"-c", script}, {},
                      {store_, code_, ledger_, memory_, exports_, collections_,
                       kept_, totals_, pacer_});
                },
            .first_pause = absl::Hours(1)};
  }

  std::unique_ptr<Spawner> spawner_ =
      Spawner::Create({.executable = "/bin/sh"}).value();
  ObjectStore store_{1000};
  CodeCache code_{"", 0};
  MemoryLedger ledger_{0};
  DeviceMemory memory_;
  ExportRegistry exports_;
  collections::CollectionTable collections_;
  DescriptorStore kept_;
  ExecutionTotals totals_;
  SharePacer pacer_;
  std::atomic<int> starts_{0};
};

TEST_F(ExecutorPoolTest, ReasonWhyNoneStartsReachesEveryCallerAtOnce) {
  absl::Notification unhealthy;
  ExecutorPool::Options options = Options("kill -ABRT $$");
  options.on_health = [&](bool serving) {
    if (!serving) unhealthy.Notify();
  };
  ExecutorPool pool(options);
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = pool.Take({0}, absl::InfiniteFuture()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(absl::StrContains(status.message(), "SIGABRT")) << status;
  }
  EXPECT_EQ(pool.Devices(absl::InfiniteFuture()).status().code(),
            absl::StatusCode::kUnavailable);
  unhealthy.WaitForNotification();
  EXPECT_EQ(starts_, 1);  // The next try comes after the pause.
}

TEST_F(ExecutorPoolTest, TriesAgainAfterThePause) {
  ExecutorPool::Options options = Options("exit 1");
  options.first_pause = absl::Milliseconds(1);
  ExecutorPool pool(options);
  while (starts_ < 4) absl::SleepFor(absl::Milliseconds(1));
}

TEST_F(ExecutorPoolTest, ExecutorThatNeverGetsReadyIsGivenUp) {
  ExecutorPool::Options options = Options("sleep 1000");
  options.start_limit = absl::Milliseconds(10);
  ExecutorPool pool(options);
  EXPECT_EQ(pool.Take({0}, absl::InfiniteFuture()).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(ExecutorPoolTest, TakeGivesUpAtItsDeadline) {
  ExecutorPool::Options options = Options("sleep 1000");
  options.start_limit = absl::Seconds(1);
  ExecutorPool pool(options);
  EXPECT_EQ(pool.Take({0}, absl::Now()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace holdfast::supervisor
