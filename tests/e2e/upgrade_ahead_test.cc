// SPDX-License-Identifier: Apache-2.0
//
// The next daemon's executors make their contexts while the old executors still
// serve. The software device holds the making of contexts up as long as a file
// says so, so that the tests see an order of events and no times.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/session.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/kept_sessions.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {
namespace {

std::string ReadProc(pid_t pid, const char* file) {
  std::ifstream stream(absl::StrCat("/proc/", pid, "/", file));
  std::string text;
  // Ends as well where the process ends meanwhile.
  for (char next = 0; stream.get(next);) text.push_back(next);
  return text;
}

// The fields of /proc/PID/stat after the name: STATE PARENT ...
std::vector<std::string> StatOf(pid_t pid) {
  const std::string stat = ReadProc(pid, "stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {"Z", "0"};
  return absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
}

// The parent of a process; 0 if it has ended.
pid_t ParentOf(pid_t pid) {
  const auto fields = StatOf(pid);
  pid_t parent = 0;
  return fields[0] != "Z" && absl::SimpleAtoi(fields[1], &parent) ? parent : 0;
}

bool HasEnded(pid_t pid) {
  return Eventually([pid] { return ParentOf(pid) == 0; });
}

// A child of `parent`, other than `known`, that was executed with these
// arguments; 0: none.
pid_t ChildOf(pid_t parent, const std::vector<std::string>& arguments,
              pid_t known = 0) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    if (pid == known || ParentOf(pid) != parent) continue;
    const std::string line = ReadProc(pid, "cmdline");
    const bool has_all = absl::c_all_of(arguments, [&](const auto& argument) {
      return absl::StrContains(line, argument);
    });
    if (has_all) return pid;
  }
  return 0;
}

// The spawner of the daemon that is about to be executed, and its executor.
struct Next {
  pid_t spawner = 0;
  pid_t executor = 0;
};

// Returns when there is such an executor. `spawner` is that of the present
// daemon.
Next AwaitNext(const DaemonProcess& daemon, pid_t spawner) {
  Next next;
  EXPECT_TRUE(Eventually([&] {
    next.spawner = ChildOf(daemon.pid(), {"--role=spawner"}, spawner);
    if (next.spawner == 0) return false;
    next.executor = ChildOf(next.spawner, {"--role=executor"});
    return next.executor != 0;
  }));
  return next;
}

// 0: the daemon does not answer just now.
pid_t ExecutorOf(Client& client) {
  const auto sessions = client.session().daemon().Sessions();
  if (!sessions.ok()) return 0;
  for (const auto& session : *sessions) {
    if (session.session_id() == client.session().id()) {
      return static_cast<pid_t>(session.executor_pid());
    }
  }
  return 0;
}

void ExpectServed(Client& client) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(client.Count(), absl::OkStatus());
    ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
  }
  EXPECT_EQ(client.Sum(), client.launches());
  client.ExpectNumbers();
}

// No context is made while it is closed.
class ContextGate {
 public:
  ContextGate() {
    Open();
    setenv("HOLDFAST_SOFTWARE_DEFECTS", path_.c_str(), 1);
  }
  ~ContextGate() {
    Open();
    unsetenv("HOLDFAST_SOFTWARE_DEFECTS");
  }
  void Close() const { WriteFile(path_, "0 wait\n"); }
  void Open() const { WriteFile(path_, ""); }

 private:
  const std::string path_ = TestFile("contexts-that-wait");
};

class UpgradeAheadTest : public ::testing::Test {
 protected:
  // Begins an upgrade, and returns when an executor of the next daemon waits
  // for its context.
  void BeginUpgrade(absl::Duration timeout = absl::Minutes(1)) {
    gate_.Close();
    const pid_t spawner = ParentOf(ExecutorOf(client_));
    upgrade_ = std::jthread([this, timeout] {
      auto connection = Daemon::Connect(daemon_.address());
      ASSERT_TRUE(connection.ok()) << connection.status();
      upgraded_ = Upgrade(**connection, timeout).status();
    });
    next_ = AwaitNext(daemon_, spawner);
  }
  void FinishUpgrade() {
    upgrade_.join();
    EXPECT_EQ(upgraded_, absl::OkStatus());
    ExpectServed(client_);
  }

  const ContextGate gate_;
  const DaemonProcess daemon_;
  Client client_{{.address = daemon_.address()}};
  const pid_t executor_ = ExecutorOf(client_);
  Next next_;
  absl::Status upgraded_;
  std::jthread upgrade_;
};

TEST_F(UpgradeAheadTest, TheNextExecutorHasItsContextBeforeTheOldOneStops) {
  BeginUpgrade();
  // The old one serves for as long as the next one has no context.
  ExpectServed(client_);
  EXPECT_EQ(ExecutorOf(client_), executor_);
  EXPECT_EQ(ParentOf(next_.executor), next_.spawner);
  gate_.Open();
  FinishUpgrade();
  EXPECT_EQ(ExecutorOf(client_), next_.executor);
  EXPECT_TRUE(HasEnded(executor_));
}

TEST_F(UpgradeAheadTest, ProcessesAreTakenOverAgainAndAgain) {
  for (int i = 0; i < 3; ++i) {
    const pid_t spawner = ParentOf(ExecutorOf(client_));
    BeginUpgrade();
    gate_.Open();
    FinishUpgrade();
    EXPECT_EQ(ExecutorOf(client_), next_.executor);
    EXPECT_EQ(ParentOf(next_.spawner), daemon_.pid());
    EXPECT_TRUE(HasEnded(spawner));
  }
}

TEST_F(UpgradeAheadTest, AnExecutorThatDiesAheadIsStartedByTheNextDaemon) {
  BeginUpgrade();
  ASSERT_EQ(kill(next_.executor, SIGKILL), 0);
  gate_.Open();
  FinishUpgrade();
  EXPECT_NE(ExecutorOf(client_), next_.executor);
  EXPECT_NE(ExecutorOf(client_), executor_);
}

TEST_F(UpgradeAheadTest, ASpawnerThatDiesAheadIsStartedByTheNextDaemon) {
  BeginUpgrade();
  ASSERT_EQ(kill(next_.spawner, SIGKILL), 0);
  gate_.Open();
  FinishUpgrade();
  EXPECT_NE(ExecutorOf(client_), next_.executor);
  EXPECT_NE(ExecutorOf(client_), executor_);
}

TEST_F(UpgradeAheadTest, AnExecutorThatHangsAheadHoldsUpNoUpgradeAndNoSession) {
  BeginUpgrade(absl::Seconds(20));
  ExpectServed(client_);
  EXPECT_EQ(ExecutorOf(client_), executor_);
  // It is killed in the end, and the next daemon starts without it.
  EXPECT_TRUE(HasEnded(executor_));
  EXPECT_EQ(ParentOf(next_.executor), 0);
  gate_.Open();
  FinishUpgrade();
  EXPECT_NE(ExecutorOf(client_), next_.executor);
}

TEST_F(UpgradeAheadTest, NothingOfTheNextDaemonStaysIfTheUpgradeIsRefused) {
  auto pinned = client_.session().AllocateHost(4096);
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  ASSERT_EQ(client_.session().Synchronize(), absl::OkStatus());
  BeginUpgrade();
  gate_.Open();
  upgrade_.join();
  EXPECT_EQ(upgraded_.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(HasEnded(next_.spawner));
  EXPECT_TRUE(HasEnded(next_.executor));
  ExpectServed(client_);
  EXPECT_EQ(ExecutorOf(client_), executor_);
}

// The daemon's end is the end of all that it has started ahead.
TEST_F(UpgradeAheadTest, ProcessesThatWereTakenOverEndWithTheDaemon) {
  BeginUpgrade();
  gate_.Open();
  FinishUpgrade();
  ASSERT_EQ(kill(daemon_.pid(), SIGKILL), 0);
  EXPECT_TRUE(HasEnded(next_.spawner));
  EXPECT_TRUE(HasEnded(next_.executor));
}

}  // namespace
}  // namespace holdfast::e2e
