// SPDX-License-Identifier: Apache-2.0
//
// The abilities that a confined process has left: each test in a process of its
// own.
#include "server/process/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "core/base/sanitizer.h"
#include "core/base/unique_fd.h"
#include "server/process/sandbox/namespaces.h"
#include "server/process/sandbox/seccomp.h"

namespace holdfast {
namespace {

constexpr int kNotOffered = 77;

// The exit code of a process that runs `body`, in namespaces of its own if they
// are `wanted` and offered; 0 if it failed no expectation.
int InAProcess(const std::function<void()>& body,
               Namespaces wanted = Namespaces::kNone) {
  Namespaces own = Namespaces::kNone;
  const pid_t pid = ForkIntoNamespaces(wanted, &own);
  if (pid == 0) {
    if (own != wanted) _exit(kNotOffered);
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

bool CanRead(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY));
  char byte = 0;
  return fd.valid() && read(fd.get(), &byte, 1) == 1;
}

class SandboxTest : public testing::Test {
 protected:
  SandboxTest() {
    char name[] = "/tmp/holdfast-sandbox-XXXXXX";
    directory_ = mkdtemp(name);
    for (const char* folder : {"/in", "/out"}) {
      std::filesystem::create_directory(directory_ + folder);
      std::ofstream(directory_ + folder + "/file") << "text";
    }
  }
  ~SandboxTest() override { std::filesystem::remove_all(directory_); }

  std::string In() const { return directory_ + "/in"; }
  std::string Out() const { return directory_ + "/out"; }

  std::string directory_;
};

TEST_F(SandboxTest, OnlySomeDirectoriesCanBeRead) {
  const int code = InAProcess([this] {
    Sandbox sandbox(CompilerPolicy(uint64_t{1} << 40, 1 << 20), {});
    sandbox.Close(SandboxRole::kCompiler, {In(), directory_ + "/none"});
    if (sandbox.ToString().find("files by") == std::string::npos) {
      _exit(kNotOffered);
    }
    EXPECT_TRUE(CanRead(In() + "/file"));
    for (const std::string& path :
         {Out() + "/file", In() + "/../out/file", std::string("/etc/passwd"),
          std::string("/proc/self/environ"), std::string("/dev/zero")}) {
      EXPECT_FALSE(CanRead(path)) << path;
    }
    EXPECT_LT(open((In() + "/file").c_str(), O_WRONLY), 0);
    EXPECT_LT(open((In() + "/new").c_str(), O_WRONLY | O_CREAT, 0600), 0);
    EXPECT_NE(unlink((In() + "/file").c_str()), 0);
  });
  if (code == kNotOffered) GTEST_SKIP() << "neither Landlock nor mounts";
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(CanRead(In() + "/file"));
}

// Where the kernel has no Landlock.
TEST_F(SandboxTest, MountsAloneHideTheRestOfTheFiles) {
  const int code = InAProcess(
      [this] {
        const absl::Status status =
            ShowOnly({{In()}, {"/usr/lib"}, {"/nowhere"}});
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_TRUE(CanRead(In() + "/file"));
        for (const std::string& path :
             {Out() + "/file", In() + "/../out/file",
              std::string("/etc/passwd"), std::string("/proc/self/environ"),
              std::string("/dev/zero")}) {
          struct stat info;
          EXPECT_NE(stat(path.c_str(), &info), 0) << path;
        }
        EXPECT_LT(open((In() + "/file").c_str(), O_WRONLY), 0);
        EXPECT_LT(open("/new", O_WRONLY | O_CREAT, 0600), 0);
        EXPECT_TRUE(DropCapabilities().ok());
        EXPECT_NE(umount(In().c_str()), 0);
      },
      Namespaces::kAll);
  if (code == kNotOffered) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(code, 0);
}

TEST_F(SandboxTest, MountsNeedARootThatIsAMountPoint) {
  const int code = InAProcess(
      [this] {
        ASSERT_EQ(chroot(directory_.c_str()), 0);
        const absl::Status status = ShowOnly({{"/in"}});
        EXPECT_TRUE(absl::IsUnavailable(status)) << status;
        EXPECT_NE(status.message().find("chroot"), std::string::npos) << status;
        EXPECT_TRUE(CanRead("/out/file"));
      },
      Namespaces::kAll);
  if (code == kNotOffered) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(code, 0);
}

// As the toolkit's folders may be named.
TEST_F(SandboxTest, MountedPathsWorkUnderTheirOwnSpelling) {
  std::filesystem::create_directory(directory_ + "/in/library");
  std::filesystem::create_directory(directory_ + "/headers");
  std::ofstream(directory_ + "/headers/file") << "text";
  std::filesystem::create_symlink("in", directory_ + "/link");
  const int code = InAProcess(
      [this] {
        const absl::Status status =
            ShowOnly({{directory_ + "/link/library"},
                      {directory_ + "/link/library/../../headers/"},
                      {directory_ + "/link/file"}});
        ASSERT_TRUE(status.ok()) << status;
        for (const char* path : {"/link/library/../../headers/file",
                                 "/headers/file", "/link/file", "/in/file"}) {
          EXPECT_TRUE(CanRead(directory_ + path)) << path;
        }
        EXPECT_FALSE(CanRead(Out() + "/file"));
      },
      Namespaces::kAll);
  if (code == kNotOffered) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(code, 0);
}

TEST_F(SandboxTest, SystemCallsThatReachOutAreForbidden) {
  const pid_t parent = getpid();
  const int code = InAProcess([this, parent] {
    if (!AllowSystemCalls(SandboxRole::kCompiler).ok()) _exit(kNotOffered);
    const auto forbidden = [](long result) {
      return result == -1 && errno == EPERM;
    };
    EXPECT_TRUE(forbidden(socket(AF_INET, SOCK_STREAM, 0)));
    EXPECT_TRUE(forbidden(socket(AF_UNIX, SOCK_STREAM, 0)));
    EXPECT_TRUE(forbidden(execl("/bin/true", "true", nullptr)));
    EXPECT_TRUE(forbidden(fork()));
    EXPECT_TRUE(forbidden(vfork()));
    EXPECT_TRUE(forbidden(kill(parent, 0)));
    EXPECT_TRUE(forbidden(syscall(SYS_tgkill, parent, parent, 0)));
    EXPECT_TRUE(forbidden(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)));
    EXPECT_TRUE(forbidden(unshare(CLONE_NEWUSER)));
    EXPECT_TRUE(forbidden(open((In() + "/file").c_str(), O_RDWR)));
    EXPECT_TRUE(forbidden(open((In() + "/n").c_str(), O_CREAT, 0600)));
    EXPECT_TRUE(forbidden(open("/tmp", O_TMPFILE | O_WRONLY, 0600)));
    EXPECT_TRUE(forbidden(unlink((In() + "/file").c_str())));
    EXPECT_TRUE(forbidden(chmod((In() + "/file").c_str(), 0777)));
    rlimit limit;
    EXPECT_TRUE(forbidden(prlimit(parent, RLIMIT_NOFILE, nullptr, &limit)));
    EXPECT_TRUE(forbidden(syscall(SYS_bpf, 0, nullptr, 0)));
    EXPECT_TRUE(forbidden(syscall(SYS_io_uring_setup, 1, nullptr)));
    EXPECT_TRUE(forbidden(syscall(SYS_keyctl, 0, 0)));
  });
  if (code == kNotOffered) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(code, 0);
}

TEST_F(SandboxTest, WhatCompilingTakesStillWorks) {
  EXPECT_EQ(InAProcess([this] {
              Sandbox sandbox(CompilerPolicy(uint64_t{1} << 40, 1 << 20), {});
              sandbox.Close(SandboxRole::kCompiler, {In()});
              bool ran = false;
              std::thread([&ran] { ran = true; }).join();
              EXPECT_TRUE(ran);
              const UniqueFd memory(
                  memfd_create("object", MFD_CLOEXEC | MFD_ALLOW_SEALING));
              EXPECT_EQ(write(memory.get(), "text", 4), 4);
              EXPECT_EQ(ftruncate(memory.get(), 8), 0);
              // More than it may, as an error and not as a signal.
              EXPECT_NE(ftruncate(memory.get(), 2 << 20), 0);
              EXPECT_EQ(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
              rlimit limit;
              EXPECT_EQ(getrlimit(RLIMIT_CPU, &limit), 0);
              limit.rlim_cur = 100;
              EXPECT_EQ(setrlimit(RLIMIT_CPU, &limit), 0);
              EXPECT_EQ(raise(0), 0);
            }),
            0);
}

TEST_F(SandboxTest, DescriptorsAndMemoryAreLimited) {
  EXPECT_EQ(InAProcess([] {
              Sandbox sandbox(CompilerPolicy(uint64_t{4} << 30, 1 << 20), {});
              int opened = 0;
              while (opened < 1000 && dup(0) >= 0) ++opened;
              EXPECT_LT(opened, 100);
              if (kSanitized) return;
              EXPECT_EQ(
                  mmap(nullptr, size_t{5} << 30, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
                  MAP_FAILED);
            }),
            0);
}

// A change of privileges clears what makes it so.
TEST_F(SandboxTest, ItStillDiesWithItsParent) {
  EXPECT_EQ(InAProcess([] {
              prctl(PR_SET_PDEATHSIG, SIGKILL);
              Sandbox sandbox(CompilerPolicy(uint64_t{1} << 40, 1 << 20), {});
              sandbox.Close(SandboxRole::kCompiler);
              int signal = 0;
              EXPECT_EQ(prctl(PR_GET_PDEATHSIG, &signal), 0);
              EXPECT_EQ(signal, SIGKILL);
            }),
            0);
}

TEST_F(SandboxTest, ItSaysWhatHoldsAndWhatDoesNot) {
  EXPECT_EQ(InAProcess([] {
              Sandbox sandbox(CompilerPolicy(uint64_t{1} << 40, 1 << 20), {});
              EXPECT_NE(sandbox.ToString().find("any system call"),
                        std::string::npos);
              sandbox.Close(SandboxRole::kCompiler);
              if (prctl(PR_GET_SECCOMP) == 2) {
                EXPECT_NE(sandbox.ToString().find("by seccomp"),
                          std::string::npos);
              }
            }),
            0);
}

}  // namespace
}  // namespace holdfast
