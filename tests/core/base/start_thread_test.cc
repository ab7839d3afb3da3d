// SPDX-License-Identifier: Apache-2.0
#include "core/base/start_thread.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/testing/status_matchers.h"
#include "tests/testing/thread_refusal.h"

namespace holdfast {
namespace {

using ::holdfast::testing::StatusIs;
using ::holdfast::testing::ThreadRefusal;

TEST(StartThreadTest, TheThreadRuns) {
  bool ran = false;
  ASSERT_OK_AND_ASSIGN(std::thread thread,
                       StartThread("a test", [&] { ran = true; }));
  thread.join();
  EXPECT_TRUE(ran);
}

TEST(StartThreadTest, AThreadThatTheSystemRefusesIsAnErrorThatNamesItsPurpose) {
  if (!ThreadRefusal::kWorks) GTEST_SKIP();
  const ThreadRefusal refusal;
  EXPECT_THAT(StartThread("a test", [] {}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "no thread for a test: Resource temporarily"));
}

TEST(RunSideBySideTest, JobsRunAtTheSameTime) {
  std::atomic<int> here{0};
  const auto meet = [&] {
    ++here;
    while (here < 2) std::this_thread::yield();
  };
  RunSideBySide({meet, meet});
  EXPECT_EQ(here, 2);
}

TEST(RunSideBySideTest, JobsRunWithoutThreadsAsWell) {
  if (!ThreadRefusal::kWorks) GTEST_SKIP();
  const ThreadRefusal refusal;
  int ran = 0;
  RunSideBySide({[&] { ++ran; }, [&] { ++ran; }});
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace holdfast
