// SPDX-License-Identifier: Apache-2.0
#include "tests/server/testing/own_mounts.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace holdfast {

bool RunsWithMounts(const std::function<void()>& body, bool* skipped) {
  constexpr int kNotAllowed = 77;
  const std::string user = absl::StrCat(geteuid(), " ", geteuid(), " 1");
  const std::string group = absl::StrCat(getegid(), " ", getegid(), " 1");
  const pid_t pid = fork();
  if (pid == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(kNotAllowed);
    std::ofstream("/proc/self/uid_map") << user;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/gid_map") << group;
    if (mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      _exit(kNotAllowed);
    }
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  *skipped = WIFEXITED(status) && WEXITSTATUS(status) == kNotAllowed;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace holdfast
