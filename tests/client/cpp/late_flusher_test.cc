// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/late_flusher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/thread_refusal.h"

namespace holdfast {
namespace {

constexpr absl::Duration kDelay = absl::Microseconds(100);

TEST(LateFlusherTest, ABatchThatNobodySendsIsFlushed) {
  std::atomic<uint64_t> waiting{0};
  absl::Notification flushed;
  ASSERT_OK_AND_ASSIGN(
      const auto flusher,
      LateFlusher::Start({.delay = kDelay,
                          .waiting = [&] { return waiting.load(); },
                          .flush =
                              [&] {
                                if (waiting.exchange(0) != 0) flushed.Notify();
                              }}));
  waiting = 1;
  flusher->Wake();
  flushed.WaitForNotification();
}

// Each batch begins after the thread may have gone to sleep, or has not.
TEST(LateFlusherTest, NoWakeIsMissedWhileTheThreadGoesToSleep) {
  std::atomic<uint64_t> waiting{0};
  std::atomic<uint64_t> flushed{0};
  ASSERT_OK_AND_ASSIGN(
      const auto flusher,
      LateFlusher::Start({.delay = kDelay,
                          .waiting = [&] { return waiting.load(); },
                          .flush = [&] { flushed = waiting.exchange(0); }}));
  for (uint64_t batch = 1; batch <= 200; ++batch) {
    // The thread sleeps after some 20 looks.
    absl::SleepFor(static_cast<int>(batch % 40) * kDelay);
    waiting = batch;
    flusher->Wake();
    while (flushed.load() != batch) absl::SleepFor(kDelay);
  }
}

TEST(LateFlusherTest, StopEndsASleepingThread) {
  std::atomic<int> looks{0};
  ASSERT_OK_AND_ASSIGN(
      const auto flusher,
      LateFlusher::Start(
          {.delay = kDelay,
           .waiting =
               [&] {
                 ++looks;
                 return uint64_t{0};
               },
           .flush = [] { ADD_FAILURE() << "there is nothing"; }}));
  while (looks < 21) absl::SleepFor(kDelay);
  flusher->Stop();
  flusher->Stop();
}

TEST(LateFlusherTest, AThreadThatTheSystemRefusesIsAnError) {
  if (!testing::ThreadRefusal::kWorks) GTEST_SKIP();
  const testing::ThreadRefusal refusal;
  EXPECT_THAT(LateFlusher::Start({.delay = kDelay,
                                  .waiting = [] { return uint64_t{0}; },
                                  .flush = [] {}}),
              testing::StatusIs(absl::StatusCode::kResourceExhausted, ""));
}

}  // namespace
}  // namespace holdfast
