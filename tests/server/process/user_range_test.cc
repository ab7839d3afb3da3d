// SPDX-License-Identifier: Apache-2.0
#include "server/process/user_range.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

// Two users of this process's own: tests that run at the same time see each
// other's processes.
uid_t FirstUser() { return 1'900'000'000u + 2u * static_cast<uid_t>(getpid()); }

std::shared_ptr<UserRange> TwoUsers() {
  const uid_t first = FirstUser();
  return UserRange::Parse(absl::StrCat(first, "-", first + 1)).value();
}

void* Pause(void*) {
  pause();
  return nullptr;
}

// Lets the first thread of this process end, as a kernel of a client's could,
// while another one goes on.
[[noreturn]] void LeaveToAnotherThread(int ready) {
  pthread_t other;
  if (pthread_create(&other, nullptr, Pause, nullptr) != 0) _exit(1);
  if (write(ready, "r", 1) != 1) _exit(1);
  for (;;) syscall(SYS_exit, 0);
}

// A process of this user, which stays until it is killed; 0: the user namespace
// has no such user.
pid_t StartProcessOf(uid_t user, bool without_first_thread = false) {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(user) != 0) _exit(1);
    if (without_first_thread) LeaveToAnotherThread(ready[1]);
    if (write(ready[1], "r", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  close(ready[1]);
  char byte = 0;
  const bool started = read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  if (!started) waitpid(child, nullptr, 0);
  return started ? child : 0;
}

TEST(UserRangeTest, EachLeaseHasAUserOfItsOwnAndGivesItBack) {
  const auto range = TwoUsers();
  {
    const UserRange::Lease one = UserRange::Take(range);
    const UserRange::Lease two = UserRange::Take(range);
    EXPECT_EQ(one.user(), FirstUser());
    EXPECT_EQ(two.user(), FirstUser() + 1);
    EXPECT_EQ(UserRange::Take(range).user(), 0u);
  }
  EXPECT_NE(UserRange::Take(range).user(), 0u);
}

// Executors outlive the daemon that has started them: nobody else may get their
// user after an upgrade.
TEST(UserRangeTest, AUserThatHasAProcessIsGivenToNoOther) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const pid_t child = StartProcessOf(FirstUser());
  if (child == 0) {
    GTEST_SKIP() << "this user namespace has no user " << FirstUser();
  }
  const auto range = TwoUsers();
  {
    const UserRange::Lease lease = UserRange::Take(range);
    EXPECT_EQ(lease.user(), FirstUser() + 1);
    EXPECT_EQ(UserRange::Take(range).user(), 0u);
  }
  // It has ended, and nobody has taken note.
  kill(child, SIGKILL);
  siginfo_t ended = {};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT),
            0);
  // Processes are looked at again only where no other user is left.
  const UserRange::Lease other = UserRange::Take(range);
  EXPECT_EQ(other.user(), FirstUser() + 1);
  EXPECT_EQ(UserRange::Take(range).user(), FirstUser());
  waitpid(child, nullptr, 0);
}

TEST(UserRangeTest, AProcessWithoutItsFirstThreadKeepsItsUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const pid_t child =
      StartProcessOf(FirstUser(), /*without_first_thread=*/true);
  if (child == 0) {
    GTEST_SKIP() << "this user namespace has no user " << FirstUser();
  }
  // Its first thread's end may take a moment.
  std::string status;
  for (int i = 0; i < 10000 && status.find("State:\tZ") == status.npos; ++i) {
    usleep(1000);
    std::ifstream file(absl::StrCat("/proc/", child, "/status"));
    status.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto range = TwoUsers();
  const UserRange::Lease lease = UserRange::Take(range);
  EXPECT_EQ(lease.user(), FirstUser() + 1);
  EXPECT_EQ(UserRange::Take(range).user(), 0u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(UserRangeTest, AUserOfTheDaemonBeforeIsTakenBackOnce) {
  const auto users = TwoUsers();
  const UserRange::Lease first = UserRange::TakeBack(users, FirstUser());
  EXPECT_EQ(first.user(), FirstUser());
  EXPECT_EQ(UserRange::TakeBack(users, FirstUser()).user(), 0u);
  EXPECT_EQ(UserRange::TakeBack(users, FirstUser() + 2).user(), 0u);
  EXPECT_EQ(UserRange::TakeBack(nullptr, FirstUser()).user(), 0u);
  const UserRange::Lease second = UserRange::Take(users);
  EXPECT_EQ(second.user(), FirstUser() + 1);
  EXPECT_EQ(UserRange::Take(users).user(), 0u);
}

}  // namespace
}  // namespace holdfast
