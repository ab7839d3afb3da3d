// SPDX-License-Identifier: Apache-2.0
#include "server/process/user_range.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

namespace holdfast {
namespace {

constexpr uid_t kFirst = 1999999001;

std::shared_ptr<UserRange> TwoUsers() {
  return UserRange::Parse("1999999001-1999999002").value();
}

TEST(UserRangeTest, EachLeaseHasAUserOfItsOwnAndGivesItBack) {
  const auto range = TwoUsers();
  {
    const UserRange::Lease one = UserRange::Take(range);
    const UserRange::Lease two = UserRange::Take(range);
    EXPECT_EQ(one.user(), kFirst);
    EXPECT_EQ(two.user(), kFirst + 1);
    EXPECT_EQ(UserRange::Take(range).user(), 0u);
  }
  EXPECT_NE(UserRange::Take(range).user(), 0u);
}

// Executors outlive the daemon that has started them: nobody else may get their
// user after an upgrade.
TEST(UserRangeTest, AUserThatHasAProcessIsGivenToNoOther) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(kFirst) != 0 || write(ready[1], "r", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  close(ready[1]);
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) {
    waitpid(child, nullptr, 0);
    GTEST_SKIP() << "this user namespace has no user " << kFirst;
  }
  const auto range = TwoUsers();
  const UserRange::Lease lease = UserRange::Take(range);
  EXPECT_EQ(lease.user(), kFirst + 1);
  EXPECT_EQ(UserRange::Take(range).user(), 0u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
}

}  // namespace
}  // namespace holdfast
