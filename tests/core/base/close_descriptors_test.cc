// SPDX-License-Identifier: Apache-2.0
#include "core/base/close_descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>

#include "gtest/gtest.h"

namespace holdfast {
namespace {

// As a kernel that does not have the call.
void ForgetCloseRange() {
  sock_filter program[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_close_range},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog filter = {std::size(program), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    _exit(2);
  }
}

// Whether a child keeps what is below the first, and nothing else.
bool ChildIsRight(bool forget) {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 20; ++i) dup(STDERR_FILENO);
    dup2(STDERR_FILENO, 50);
    dup2(STDERR_FILENO, 10);
    if (forget) ForgetCloseRange();
    CloseDescriptorsFrom(11);
    for (int descriptor = 11; descriptor < 100; ++descriptor) {
      if (fcntl(descriptor, F_GETFD) >= 0) _exit(1);
    }
    _exit(fcntl(10, F_GETFD) >= 0 ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

TEST(CloseDescriptorsTest, ClosesAllFromTheFirstOn) {
  EXPECT_TRUE(ChildIsRight(/*forget=*/false));
}

TEST(CloseDescriptorsTest, ClosesThemWhereTheKernelIsOlder) {
  EXPECT_TRUE(ChildIsRight(/*forget=*/true));
}

}  // namespace
}  // namespace holdfast
