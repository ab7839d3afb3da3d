// SPDX-License-Identifier: Apache-2.0
//
// The daemon on a machine that cannot bound which files an executor reads: this
// process takes Landlock, mounts and namespaces away from itself, and so from
// all that it starts. On the software device a kernel is native code there.
#include <errno.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "client/cpp/session.h"
#include "core/base/sanitizer.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

constexpr char kRefusal[] = "a sandbox is required";

// Returns false if this kernel has no seccomp.
bool TakeWallsAway() {
  constexpr uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID |
                                   CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  std::vector<sock_filter> program;
  const auto add = [&](uint16_t code, uint32_t operand, uint8_t yes = 0,
                       uint8_t no = 0) {
    program.push_back({code, yes, no, operand});
  };
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (const uint32_t number :
       {SYS_landlock_create_ruleset, SYS_unshare, SYS_setns, SYS_mount,
        SYS_pivot_root, SYS_clone3}) {
    add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
  }
  add(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3);
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args));
  add(BPF_JMP | BPF_JSET | BPF_K, kNamespaces, 0, 1);
  add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog filter = {static_cast<unsigned short>(program.size()),
                             program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

class MissingSandboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer needs files and system calls";
  }
};

TEST_F(MissingSandboxTest, ADaemonThatRequiresItDoesNotServe) {
  std::string directory = "/tmp/holdfast-e2e-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const Outcome outcome =
      RunProgram({ProgramPath("HOLDFAST_DAEMON"), "--device=cpu",
                  "--listen=unix:" + directory + "/holdfast.sock",
                  "--runtime-dir=" + directory, "--cache-disk=0",
                  "--require-sandbox", "--trust-clients"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(outcome.err, kRefusal)) << outcome.err;
  std::filesystem::remove_all(directory);
}

// It listens on TCP, and nobody has said that who connects is trusted.
TEST_F(MissingSandboxTest, OthersGetNoSessionOnTheSoftwareDevice) {
  const DaemonProcess daemon;
  for (const std::string& address : {daemon.address(), daemon.tcp_address()}) {
    const auto session = Session::Open({.address = address});
    EXPECT_FALSE(session.ok());
    EXPECT_TRUE(absl::StrContains(session.status().message(), kRefusal))
        << session.status();
  }
}

TEST_F(MissingSandboxTest, ClientsThatAreTrustedAreServed) {
  const DaemonProcess daemon({"--trust-clients"});
  const auto session = Session::Open({.address = daemon.tcp_address()});
  EXPECT_TRUE(session.ok()) << session.status();
}

}  // namespace
}  // namespace holdfast::e2e

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!holdfast::e2e::TakeWallsAway()) return 1;
  return RUN_ALL_TESTS();
}
