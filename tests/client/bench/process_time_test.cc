// SPDX-License-Identifier: Apache-2.0
#include "client/bench/process_time.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace holdfast::bench {
namespace {

TEST(ProcessTimeTest, ABusyProcessUsesTimeAndAnotherIsItsParent) {
  // A name that looks like the fields behind it.
  ASSERT_EQ(prctl(PR_SET_NAME, "a) R 1 (b"), 0);
  const auto before = ReadProcessTime(getpid());
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->parent, getppid());
  double now = before->cpu_milliseconds;
  while (now < before->cpu_milliseconds + 20) {
    const auto after = ReadProcessTime(getpid());
    ASSERT_TRUE(after.ok()) << after.status();
    ASSERT_GE(after->cpu_milliseconds, now);
    now = after->cpu_milliseconds;
  }
}

TEST(ProcessTimeTest, ThereIsNoProcessZero) {
  EXPECT_TRUE(absl::IsNotFound(ReadProcessTime(0).status()));
}

}  // namespace
}  // namespace holdfast::bench
