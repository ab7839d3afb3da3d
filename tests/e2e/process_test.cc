// SPDX-License-Identifier: Apache-2.0
//
// Programs that a test starts end with the test, however it ends.
#include "tests/e2e/process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "gtest/gtest.h"

namespace holdfast::e2e {
namespace {

TEST(ProcessTest, AProgramEndsWhenTheTestCrashes) {
  // The program becomes a child of this process once its parent has ended.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int started[2];
  ASSERT_EQ(pipe(started), 0);
  const pid_t crashing = fork();
  if (crashing == 0) {
    Process program({"/bin/sh", "-c", "echo ready; exec sleep 1000"});
    if (program.ReadLine() != "ready") _exit(1);
    const pid_t pid = program.pid();
    if (write(started[1], &pid, sizeof pid) != sizeof pid) _exit(1);
    raise(SIGKILL);
  }
  // Else the read below would block if the child ends without a write.
  close(started[1]);
  pid_t program = -1;
  ASSERT_EQ(read(started[0], &program, sizeof program), sizeof program);
  EXPECT_EQ(waitpid(crashing, nullptr, 0), crashing);
  int status = 0;
  EXPECT_TRUE(Eventually(
      [&] { return waitpid(program, &status, WNOHANG) == program; }));
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(ProcessTest, AMissingVariableFailsTheTestAndEndsItsPrograms) {
  EXPECT_THROW(ProgramPath("HOLDFAST_NO_SUCH_PROGRAM"), std::runtime_error);
}

TEST(ProcessTest, AProgramThatIsNotThereHasAnExitCode) {
  const Outcome outcome = RunProgram({"/nowhere/program"});
  EXPECT_EQ(outcome.exit_code, 127);
  EXPECT_NE(outcome.err.find("/nowhere/program"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::e2e
