// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/call_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/barrier.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace holdfast {
namespace {

std::string Client(int i) { return absl::StrCat("client ", i); }

TEST(CallThreadsTest, CallsThatWaitForEachOtherRunAtOnce) {
  constexpr int kCalls = 8;
  CallThreads threads(kCalls);
  absl::Barrier* const barrier = new absl::Barrier(kCalls + 1);
  for (int i = 0; i < kCalls; ++i) {
    const absl::Status running = threads.Run(Client(i), [barrier] {
      if (barrier->Block()) delete barrier;
    });
    ASSERT_TRUE(running.ok()) << running;
  }
  if (barrier->Block()) delete barrier;
}

TEST(CallThreadsTest, OneMoreThanThereAreThreadsIsRefused) {
  CallThreads threads(2);
  absl::Notification leave;
  const auto wait = [&leave] { leave.WaitForNotification(); };
  ASSERT_TRUE(threads.Run("a", wait).ok());
  ASSERT_TRUE(threads.Run("b", wait).ok());
  const absl::Status refused = threads.Run("c", wait);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(refused.message().find("0 of 2 are free"), absl::string_view::npos)
      << refused;
  leave.Notify();
}

TEST(CallThreadsTest, OneClientLeavesHalfOfThemToTheOthers) {
  CallThreads threads(4);
  absl::Notification leave;
  const auto wait = [&leave] { leave.WaitForNotification(); };
  ASSERT_TRUE(threads.Run("greedy", wait).ok());
  ASSERT_TRUE(threads.Run("greedy", wait).ok());
  const absl::Status refused = threads.Run("greedy", wait);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(refused.message().find("this client"), absl::string_view::npos)
      << refused;
  EXPECT_TRUE(threads.Run("other", wait).ok());
  EXPECT_TRUE(threads.Run("another", wait).ok());
  leave.Notify();
}

TEST(CallThreadsTest, AClientWhoseCallsHaveEndedMayCallAgain) {
  CallThreads threads(2);
  for (int i = 0; i < 20; ++i) {
    absl::Notification done;
    while (!threads.Run("a", [&done] { done.Notify(); }).ok()) {
      std::this_thread::yield();
    }
    done.WaitForNotification();
  }
}

TEST(CallThreadsTest, AThreadServesOneCallAfterTheOther) {
  absl::Mutex mutex;
  std::set<std::thread::id> used;
  CallThreads threads(1);
  for (int i = 0; i < 20; ++i) {
    absl::Notification done;
    const auto call = [&] {
      absl::MutexLock lock(&mutex);
      used.insert(std::this_thread::get_id());
      done.Notify();
    };
    // It is free a moment after the call before has returned.
    while (!threads.Run("a", call).ok()) std::this_thread::yield();
    done.WaitForNotification();
  }
  absl::MutexLock lock(&mutex);
  EXPECT_EQ(used.size(), 1u);
}

TEST(CallThreadsTest, TheEndWaitsForEveryCall) {
  std::atomic<int> ended = 0;
  {
    CallThreads threads(4);
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(threads.Run(Client(i), [&ended] { ++ended; }).ok());
    }
  }
  EXPECT_EQ(ended, 4);
}

// A call's resources are released when it returns, not with the next call.
TEST(CallThreadsTest, NothingOfACallStays) {
  CallThreads threads(1);
  auto held = std::make_shared<int>(0);
  ASSERT_TRUE(threads.Run("a", [held] {}).ok());
  while (held.use_count() > 1) std::this_thread::yield();
}

}  // namespace
}  // namespace holdfast
