// SPDX-License-Identifier: Apache-2.0
//
// Code that has taken over a compiler or an executor tries to get out: each
// attempt in a process of its own, started by the spawner and confined by the
// role's policy as the real ones are. With --gtest_filter=*Table* and
// --gtest_also_run_disabled_tests it prints the table of
// server/THREAT_MODEL.md.
#include <errno.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/sanitizer.h"
#include "server/process/sandbox/policy.h"
#include "server/process/sandbox/sandbox.h"
#include "server/process/spawner.h"
#include "server/rpc/unix_socket.h"
#include "tests/server/process/sandbox/escape_attempts.h"

namespace holdfast::testing {
namespace {

// Exit codes that are no errno: the attempt was not made.
constexpr int kNotConfined = 254;
constexpr int kOtherNamespaces = 253;

SandboxPolicy PolicyOf(SandboxRole role) {
  switch (role) {
    case SandboxRole::kCompiler:
      return CompilerPolicy(uint64_t{8} << 30, uint64_t{256} << 20);
    case SandboxRole::kSoftwareExecutor:
      return SoftwareExecutorPolicy("");
    case SandboxRole::kCudaExecutor:
      return CudaExecutorPolicy("");
  }
  return {};
}

// The child: confines itself as its role does and makes one attempt. Its exit
// code is the attempt's errno, 0 if it got out.
int RunAttempt(const std::map<std::string, std::string>& flags) {
  const auto number = [&](const char* name) {
    int value = 0;
    const auto found = flags.find(name);
    if (found != flags.end()) (void)absl::SimpleAtoi(found->second, &value);
    return value;
  };
  if (number("--own-namespaces") != number("--wanted-namespaces")) {
    return kOtherNamespaces;
  }
  const auto role = static_cast<SandboxRole>(number("--role"));
  Sandbox sandbox(
      PolicyOf(role),
      {.own_namespaces = static_cast<Namespaces>(number("--own-namespaces")),
       .user = static_cast<uid_t>(number("--user"))});
  sandbox.Close(role, {"/usr/include"});
  if (!sandbox.complete()) return kNotConfined;
  Outside outside;
  outside.supervisor = number("--supervisor");
  outside.directory = flags.at("--directory");
  outside.secret_file = outside.directory + "/secret";
  outside.socket_path = outside.directory + "/socket";
  return EscapeAttempts()[number("--attempt")].run(outside);
}

class EscapeTest
    : public ::testing::TestWithParam<std::tuple<SandboxRole, Namespaces>> {
 protected:
  EscapeTest() {
    directory_ = "/tmp/holdfast-escape-XXXXXX";
    if (mkdtemp(directory_.data()) == nullptr) abort();
    chmod(directory_.c_str(), 0777);
    std::ofstream(directory_ + "/secret") << "secret";
    chmod((directory_ + "/secret").c_str(), 0666);
    socket_ =
        ListenOnUnixSocket(directory_ + "/socket", SOCK_STREAM, 0666).value();
    Spawner::Options options;
    if (geteuid() == 0) {
      options.users = UserRange::Parse("2000000000-2000000009").value();
    }
    spawner_ = Spawner::Create(options).value();
  }
  ~EscapeTest() override { std::filesystem::remove_all(directory_); }

  int Try(size_t attempt, SandboxRole role, Namespaces namespaces) {
    const auto child = spawner_->Spawn(
        {absl::StrCat("--attempt=", attempt),
         absl::StrCat("--role=", static_cast<int>(role)),
         absl::StrCat("--wanted-namespaces=", static_cast<int>(namespaces)),
         absl::StrCat("--supervisor=", getpid()),
         absl::StrCat("--directory=", directory_)},
        namespaces);
    const TerminationReport report = (*child)->Wait();
    EXPECT_EQ(report.cause, TerminationReport::Cause::kExited)
        << report.ToString();
    return report.code;
  }

  std::string directory_;
  UniqueFd socket_;
  std::unique_ptr<Spawner> spawner_;
};

// The errno of the refusal that must stop the attempt: another one means that
// something else happened to be in the way.
int ExpectedRefusal(Wall wall, SandboxRole role, Namespaces namespaces) {
  const int hidden = namespaces == Namespaces::kNone ? EACCES : ENOENT;
  switch (wall) {
    case Wall::kSystemCalls:
      return EPERM;
    case Wall::kReading:
      return role == SandboxRole::kSoftwareExecutor ? EPERM : hidden;
    case Wall::kWriting:
      return role == SandboxRole::kCudaExecutor ? hidden : EPERM;
    case Wall::kProcesses:
      if (role == SandboxRole::kSoftwareExecutor) return EPERM;
      return role == SandboxRole::kCudaExecutor ? EACCES : hidden;
    case Wall::kDescriptorLimit:
      return EMFILE;
    case Wall::kThreadLimit:
      return EAGAIN;
    case Wall::kMemoryLimit:
      return ENOMEM;
  }
  return 0;
}

std::string NameOfOutcome(int outcome) {
  if (outcome == 0) return "**out**";
  const char* const name = strerrorname_np(outcome);
  return name == nullptr ? "not tried" : name;
}

// The kernel counts threads by user, and never root's: the limit needs a user
// of the process's own, which root of a user namespace cannot give it.
bool ThreadsAreCounted(Namespaces namespaces) {
  if (geteuid() != 0) return namespaces != Namespaces::kNone;
  uint64_t inside = 0, outside = 0, count = 0;
  std::ifstream("/proc/self/uid_map") >> inside >> outside >> count;
  return count == UINT32_MAX;
}

TEST_P(EscapeTest, EachAttemptIsRefused) {
  const auto [role, namespaces] = GetParam();
  for (size_t i = 0; i < EscapeAttempts().size(); ++i) {
    SCOPED_TRACE(EscapeAttempts()[i].name);
    if (EscapeAttempts()[i].name == std::string("exhaust threads") &&
        !ThreadsAreCounted(namespaces)) {
      continue;
    }
    const int outcome = Try(i, role, namespaces);
    if (outcome == kNotConfined) GTEST_SKIP() << "no seccomp or no Landlock";
    if (outcome == kOtherNamespaces) GTEST_SKIP() << "no such namespaces";
    EXPECT_EQ(NameOfOutcome(outcome),
              NameOfOutcome(
                  ExpectedRefusal(EscapeAttempts()[i].wall, role, namespaces)));
  }
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/secret"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/object"));
}

// The same attempts work where nothing confines them: they are real.
TEST_F(EscapeTest, OutsideOfASandboxTheAttemptsWork) {
  Outside outside{.supervisor = getpid(),
                  .secret_file = directory_ + "/secret",
                  .directory = directory_,
                  .socket_path = directory_ + "/socket"};
  for (const EscapeAttempt& attempt : EscapeAttempts()) {
    if (!attempt.works_outside) continue;
    EXPECT_EQ(attempt.run(outside), 0) << attempt.name;
  }
}

// Shows what the tests above check, so it is run by hand only.
TEST_F(EscapeTest, DISABLED_Table) {
  constexpr SandboxRole kRoles[] = {SandboxRole::kCompiler,
                                    SandboxRole::kSoftwareExecutor,
                                    SandboxRole::kCudaExecutor};
  std::cout << "| attempt | compiler | software executor | CUDA executor |\n"
               "| --- | --- | --- | --- |\n";
  for (size_t i = 0; i < EscapeAttempts().size(); ++i) {
    std::cout << "| " << EscapeAttempts()[i].name << " |";
    for (const SandboxRole role : kRoles) {
      const auto name = [&](Namespaces namespaces) {
        return NameOfOutcome(Try(i, role, namespaces));
      };
      const std::string with = name(NamespacesOf(role));
      const std::string without = name(Namespaces::kNone);
      std::cout << " " << with << (with == without ? "" : " / " + without)
                << " |";
    }
    std::cout << "\n";
  }
}

std::string NameOf(
    const ::testing::TestParamInfo<EscapeTest::ParamType>& info) {
  constexpr const char* kRoles[] = {"Compiler", "SoftwareExecutor",
                                    "CudaExecutor"};
  const auto [role, namespaces] = info.param;
  return absl::StrCat(
      kRoles[static_cast<int>(role)],
      namespaces == Namespaces::kNone ? "WithoutNamespaces" : "InNamespaces");
}

INSTANTIATE_TEST_SUITE_P(
    Roles, EscapeTest,
    ::testing::Values(
        std::tuple{SandboxRole::kCompiler, Namespaces::kAll},
        std::tuple{SandboxRole::kCompiler, Namespaces::kNone},
        std::tuple{SandboxRole::kSoftwareExecutor, Namespaces::kAll},
        std::tuple{SandboxRole::kSoftwareExecutor, Namespaces::kNone},
        std::tuple{SandboxRole::kCudaExecutor, Namespaces::kFiles},
        std::tuple{SandboxRole::kCudaExecutor, Namespaces::kNone}),
    &NameOf);

}  // namespace
}  // namespace holdfast::testing

// The test program is also the process that it confines.
int main(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    flags[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (flags.count("--attempt") > 0) {
    return holdfast::testing::RunAttempt(flags);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
