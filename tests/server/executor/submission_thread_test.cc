// SPDX-License-Identifier: Apache-2.0
#include "server/executor/submission_thread.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace holdfast::executor {
namespace {

TEST(SubmissionThreadTest, WorkRunsInOrderOnOneThread) {
  SubmissionThread thread;
  std::vector<int> order;  // Only the submission thread touches it.
  std::thread::id id;
  ASSERT_TRUE(thread.Run([&] { id = std::this_thread::get_id(); }));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(thread.Post([&order, &id, i] {
      EXPECT_EQ(std::this_thread::get_id(), id);
      order.push_back(i);
    }));
  }
  ASSERT_TRUE(thread.Run([] {}));
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[i], i);
}

TEST(SubmissionThreadTest, PostWaitsWhileTheQueueIsFull) {
  SubmissionThread thread;
  absl::Notification release;
  ASSERT_TRUE(thread.Post([&] { release.WaitForNotification(); }));
  std::atomic<int> done{0};
  std::atomic<size_t> posted{0};
  constexpr size_t kWork = 3 * SubmissionThread::kMaxWaiting;
  std::thread poster([&] {
    for (size_t i = 0; i < kWork; ++i) {
      EXPECT_TRUE(thread.Post([&] { ++done; }));
      ++posted;
    }
  });
  while (posted < SubmissionThread::kMaxWaiting) std::this_thread::yield();
  EXPECT_EQ(done, 0);
  EXPECT_LE(posted, SubmissionThread::kMaxWaiting + 1);
  release.Notify();
  poster.join();
  ASSERT_TRUE(thread.Run([] {}));
  EXPECT_EQ(done, static_cast<int>(kWork));
}

TEST(SubmissionThreadTest, StopDropsWhatWaitsAndItsCaptures) {
  auto thread = std::make_unique<SubmissionThread>();
  absl::Notification started;
  absl::Notification release;
  std::atomic<bool> ran{false};
  const auto token = std::make_shared<int>(0);
  ASSERT_TRUE(thread->Post([&] {
    started.Notify();
    release.WaitForNotification();
  }));
  started.WaitForNotification();
  ASSERT_TRUE(thread->Post([&ran, token] { ran = true; }));
  std::thread stopper([&] { thread->Stop(); });
  // Stopping is seen by posters before the running work has ended.
  while (thread->Post([] {})) std::this_thread::yield();
  release.Notify();
  stopper.join();
  EXPECT_FALSE(thread->Run([] {}));
  thread.reset();
  EXPECT_FALSE(ran);
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace holdfast::executor
