// SPDX-License-Identifier: Apache-2.0
#include "server/executor/submission/submission_thread.h"

#include <algorithm>
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

TEST(SubmissionThreadTest, AParkedBatchHoldsUpBatchesAndNoSteps) {
  SubmissionThread thread;
  std::vector<int> order;  // Only the submission thread touches it.
  int tries = 0;           // Likewise.
  ASSERT_TRUE(thread.PostBatch(
      [&] {
        if (++tries < 3) return false;
        order.push_back(1);
        return true;
      },
      100));
  ASSERT_TRUE(thread.PostBatch(
      [&] {
        order.push_back(2);
        return true;
      },
      100));
  for (int step = 10; step < 12; ++step) {
    ASSERT_TRUE(thread.Run([&] { order.push_back(step); }));
    thread.Wake();
  }
  // Batches are done in their order; then their successor.
  absl::Notification last;
  ASSERT_TRUE(thread.PostBatch(
      [&] {
        last.Notify();
        return true;
      },
      0));
  last.WaitForNotification();
  ASSERT_TRUE(thread.Run([&] {
    EXPECT_EQ(tries, 3);
    order.erase(std::remove_if(order.begin(), order.end(),
                               [](int entry) { return entry >= 10; }),
                order.end());
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
  }));
}

TEST(SubmissionThreadTest, AWakeWhileTheBatchRunsIsNotLost) {
  SubmissionThread thread;
  absl::Notification done;
  bool tried = false;
  ASSERT_TRUE(thread.PostBatch(
      [&] {
        if (tried) {
          done.Notify();
          return true;
        }
        tried = true;
        thread.Wake();  // Before it is parked.
        return false;
      },
      0));
  done.WaitForNotification();
}

TEST(SubmissionThreadTest, BytesOfWaitingBatchesAreBounded) {
  SubmissionThread thread;
  absl::Notification release, posted;
  std::atomic<int> count{0};
  ASSERT_TRUE(thread.Post([&] { release.WaitForNotification(); }));
  std::thread poster([&] {
    // One alone may have more than the bound.
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(thread.PostBatch(
          [&] {
            ++count;
            return true;
          },
          2 * SubmissionThread::kMaxWaitingBytes));
      if (i == 0) posted.Notify();
    }
  });
  posted.WaitForNotification();
  EXPECT_EQ(count, 0);
  release.Notify();
  poster.join();
  ASSERT_TRUE(thread.Run([] {}));
  EXPECT_EQ(count, 3);
}

TEST(SubmissionThreadTest, StopDropsAParkedBatch) {
  SubmissionThread thread;
  auto capture = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = capture;
  ASSERT_TRUE(thread.PostBatch([capture] { return capture == nullptr; }, 0));
  capture.reset();
  ASSERT_TRUE(thread.Run([] {}));
  thread.Stop();
  thread.Join();
  EXPECT_TRUE(alive.expired());
}

bool HasNoMore() { return false; }

TEST(SubmissionThreadTest, ABatchBeforeWhichNothingWaitsRunsAtOnce) {
  SubmissionThread thread;
  std::thread::id id;
  ASSERT_TRUE(thread.RunBatch(
      [&] {
        id = std::this_thread::get_id();
        return true;
      },
      0, HasNoMore));
  EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(SubmissionThreadTest, ABatchBehindOthersKeepsItsPlace) {
  SubmissionThread thread;
  absl::Notification release;
  std::vector<int> order;  // One at a time touches it.
  ASSERT_TRUE(thread.Post([&] {
    release.WaitForNotification();
    order.push_back(1);
  }));
  ASSERT_TRUE(thread.RunBatch(
      [&] {
        order.push_back(2);
        return true;
      },
      0, HasNoMore));
  release.Notify();
  ASSERT_TRUE(thread.Run([&] { EXPECT_EQ(order, (std::vector<int>{1, 2})); }));
}

TEST(SubmissionThreadTest, NothingRunsBesideABatchOfAnotherThread) {
  SubmissionThread thread;
  constexpr int kEach = 2000;
  int count = 0;  // One at a time touches it.
  const auto add = [&] {
    ++count;
    return true;
  };
  std::thread poster([&] {
    for (int i = 0; i < kEach; ++i) EXPECT_TRUE(thread.Run([&] { add(); }));
  });
  for (int i = 0; i < kEach; ++i) {
    ASSERT_TRUE(thread.RunBatch(add, 0, HasNoMore));
  }
  poster.join();
  ASSERT_TRUE(thread.Run([&] { EXPECT_EQ(count, 2 * kEach); }));
}

TEST(SubmissionThreadTest, ABatchThatIsParkedAtOnceGoesOnInTheThread) {
  SubmissionThread thread;
  absl::Notification done;
  std::vector<std::thread::id> ids;
  ASSERT_TRUE(thread.RunBatch(
      [&] {
        ids.push_back(std::this_thread::get_id());
        if (ids.size() < 2) return false;
        done.Notify();
        return true;
      },
      0, HasNoMore));
  thread.Wake();
  done.WaitForNotification();
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[0]);
}

TEST(SubmissionThreadTest, WhatIsPostedMeanwhileRunsAfterwards) {
  SubmissionThread thread;
  absl::Notification ran;
  ASSERT_TRUE(thread.RunBatch(
      [&] {
        EXPECT_TRUE(thread.idle());
        EXPECT_TRUE(thread.Post([&] { ran.Notify(); }));
        EXPECT_FALSE(thread.idle());
        EXPECT_FALSE(ran.HasBeenNotified());
        return true;
      },
      0, HasNoMore));
  ran.WaitForNotification();
}

TEST(SubmissionThreadTest, AShortStepBeforeWhichNothingWaitsRunsAtOnce) {
  SubmissionThread thread;
  std::thread::id ran;
  ASSERT_TRUE(thread.RunOrPost([&] { ran = std::this_thread::get_id(); }));
  EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(SubmissionThreadTest, AShortStepBehindOthersKeepsItsPlace) {
  SubmissionThread thread;
  absl::Notification release;
  std::vector<int> order;
  ASSERT_TRUE(thread.Post([&] { release.WaitForNotification(); }));
  ASSERT_TRUE(thread.Post([&] { order.push_back(1); }));
  ASSERT_TRUE(thread.RunOrPost([&] { order.push_back(2); }));
  release.Notify();
  ASSERT_TRUE(thread.Run([] {}));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  thread.Stop();
  EXPECT_FALSE(thread.RunOrPost([&] { order.push_back(3); }));
  EXPECT_EQ(order.size(), 2u);
}

TEST(SubmissionThreadTest, AThreadWithMoreToDoIsNotIdle) {
  SubmissionThread thread;
  bool more = false;
  ASSERT_TRUE(thread.RunBatch(
      [&] {
        EXPECT_TRUE(thread.idle());
        more = true;
        EXPECT_FALSE(thread.idle());
        return true;
      },
      0, [&] { return more; }));
  ASSERT_TRUE(thread.Run([&] { EXPECT_TRUE(thread.idle()); }));
}

TEST(SubmissionThreadTest, JoinWaitsForABatchOfAnotherThread) {
  SubmissionThread thread;
  absl::Notification started;
  std::atomic<bool> ended{false};
  std::thread runner([&] {
    EXPECT_TRUE(thread.RunBatch(
        [&] {
          started.Notify();
          while (thread.Post([] {})) std::this_thread::yield();
          ended = true;
          return true;
        },
        0, HasNoMore));
  });
  started.WaitForNotification();
  thread.Stop();
  thread.Join();
  EXPECT_TRUE(ended);
  runner.join();
  EXPECT_FALSE(thread.RunBatch([] { return true; }, 0, HasNoMore));
}

TEST(SubmissionThreadTest, StopDropsABatchThatWouldBeParked) {
  SubmissionThread thread;
  auto capture = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = capture;
  ASSERT_TRUE(thread.RunBatch(
      [&thread, capture] {
        thread.Stop();
        return capture == nullptr;
      },
      0, HasNoMore));
  capture.reset();
  EXPECT_TRUE(alive.expired());
}

// A session's end must not find another thread at what the session has.
TEST(SubmissionThreadTest, JoinWaitsUntilABatchOfAnotherThreadIsDropped) {
  SubmissionThread thread;
  std::atomic<bool> joined{false};
  std::atomic<bool> dropped_before{false};
  std::shared_ptr<void> capture(nullptr, [&](void*) {
    for (int i = 0; i < 2000 && !joined; ++i) std::this_thread::yield();
    dropped_before = !joined;
  });
  absl::Notification stopped;
  std::thread runner([&, capture = std::move(capture)]() mutable {
    EXPECT_TRUE(thread.RunBatch(
        [&, capture = std::move(capture)] {
          thread.Stop();
          stopped.Notify();
          return false;
        },
        0, HasNoMore));
  });
  stopped.WaitForNotification();
  thread.Join();
  joined = true;
  runner.join();
  EXPECT_TRUE(dropped_before);
}

}  // namespace
}  // namespace holdfast::executor
