// SPDX-License-Identifier: Apache-2.0
//
// Control daemons of MPS, for which shell scripts stand: no GPU is needed.
#include "server/supervisor/mps_servers.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "core/base/unique_fd.h"
#include "server/process/spawner.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::supervisor {
namespace {

using holdfast::testing::StatusIs;

class MpsServersTest : public ::testing::Test {
 protected:
  MpsServersTest() {
    char name[] = "/tmp/holdfast-mps-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~MpsServersTest() override { std::filesystem::remove_all(directory_); }

  // Those whose control daemons are this script.
  MpsServers::Options Options(const std::string& script) {
    return {.control_daemon = "/usr/bin/nvidia-cuda-mps-control",
            .directory = directory_,
            .start = [this, script](const std::string& control_daemon,
                                    const std::vector<std::string>& variables) {
              EXPECT_EQ(control_daemon, "/usr/bin/nvidia-cuda-mps-control");
              ++starts_;
              auto process =
                  spawner_->Spawn({"-c", script}, {.environment = variables});
              if (process.ok()) pid_ = (*process)->pid();
              return process;
            }};
  }

  const std::unique_ptr<Spawner> spawner_ =
      Spawner::Create({.executable = "/bin/sh"}).value();
  std::string directory_;
  std::atomic<int> starts_ = 0;
  std::atomic<pid_t> pid_ = 0;
};

// Opens its pipes where it was told to.
constexpr char kServes[] =
    "touch $CUDA_MPS_PIPE_DIRECTORY/control; "
    "test -d $CUDA_MPS_LOG_DIRECTORY && exec sleep 1000";

TEST_F(MpsServersTest, AGroupHasOneControlDaemonThatIsStartedWhenItIsNeeded) {
  std::string pipes;
  {
    MpsServers servers(Options(kServes));
    EXPECT_EQ(starts_, 0);
    pipes = *servers.PipeDirectory({.group = "inference"}).value();
    // Users besides the daemon's own reach the pipes and can write the log.
    struct stat info {};
    for (const auto& [path, mode] :
         {std::pair{pipes, 0711u}, std::pair{pipes + "/..", 0711u},
          std::pair{pipes + "/../log", 01733u}}) {
      ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
      EXPECT_EQ(info.st_mode & 07777, mode) << path;
    }
    EXPECT_EQ(*servers.PipeDirectory({.group = "inference"}).value(), pipes);
    EXPECT_EQ(starts_, 1);
    EXPECT_NE(*servers.PipeDirectory({.group = "training"}).value(), pipes);
    EXPECT_EQ(starts_, 2);
  }
  EXPECT_FALSE(std::filesystem::exists(pipes));
}

TEST_F(MpsServersTest, OneThatHasEndedIsStartedAnew) {
  MpsServers servers(Options(kServes));
  ASSERT_OK(servers.PipeDirectory({.group = "g"}).status());
  const pid_t first = pid_;
  ASSERT_EQ(kill(first, SIGKILL), 0);
  while (pid_ == first) ASSERT_OK(servers.PipeDirectory({.group = "g"}));
  EXPECT_EQ(starts_, 2);
}

TEST_F(MpsServersTest, OneThatCannotServeIsAnError) {
  MpsServers servers(Options("exit 3"));
  EXPECT_THAT(servers.PipeDirectory({.group = "g"}).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "the MPS control daemon of group g exited with code 3"));
}

TEST_F(MpsServersTest, AStartThatFailsLeavesItsLogInTheErrorAndNothingElse) {
  MpsServers servers(Options(
      "echo 'There is no GPU' > $CUDA_MPS_LOG_DIRECTORY/control.log; exit 3"));
  EXPECT_THAT(servers.PipeDirectory({.group = "g"}).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "code 3; its log ends with: There is no GPU"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

// Every user can make links in the directory of logs.
TEST_F(MpsServersTest, TextOfOtherFilesIsInNoError) {
  const std::string secret = directory_ + "/secret";
  std::ofstream(secret) << "a password";
  MpsServers servers(Options("ln -s " + secret +
                             " $CUDA_MPS_LOG_DIRECTORY/control.log; exit 3"));
  EXPECT_THAT(servers.PipeDirectory({.group = "g"}).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "code 3; it has written no log"));
}

TEST_F(MpsServersTest, AStartThatFailedIsTriedAgainAfterAPause) {
  MpsServers::Options options = Options("exit 3");
  options.start_pause = absl::Hours(1);
  MpsServers patient(options);
  const absl::Status failed = patient.PipeDirectory({.group = "g"}).status();
  EXPECT_EQ(patient.PipeDirectory({.group = "g"}).status(), failed);
  EXPECT_EQ(starts_, 1);
  options.start_pause = absl::ZeroDuration();
  MpsServers impatient(options);
  EXPECT_FALSE(impatient.PipeDirectory({.group = "g"}).ok());
  EXPECT_FALSE(impatient.PipeDirectory({.group = "g"}).ok());
  EXPECT_EQ(starts_, 3);
}

TEST_F(MpsServersTest, AGroupThatDoesNotStartHoldsUpNoOther) {
  MpsServers servers(
      Options(std::string("case $CUDA_MPS_PIPE_DIRECTORY in *mps-slow-*) "
                          "exec sleep 1000;; esac; ") +
              kServes));
  std::atomic<bool> over = false;
  std::thread opener([&] {
    EXPECT_THAT(servers.PipeDirectory({.group = "slow"}).status(),
                StatusIs(absl::StatusCode::kUnavailable, "stopping"));
    over = true;
  });
  while (starts_ == 0) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_OK(servers.PipeDirectory({.group = "quick"}));
  EXPECT_FALSE(over);
  servers.End();  // Also the control daemon that is starting.
  opener.join();
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(MpsServersTest, AGroupThatIsGoneKeepsItsControlDaemonWhileItIsUsed) {
  MpsServers servers(Options(kServes));
  ASSERT_OK_AND_ASSIGN(MpsServers::Pipes pipes,
                       servers.PipeDirectory({.group = "g"}));
  const std::string first = *pipes;
  const pid_t pid = pid_;
  servers.Retain({{.group = "g", .thread_percentage = 10}, {.group = "h"}});
  EXPECT_EQ(*servers.PipeDirectory({.group = "g"}).value(), first);
  servers.Retain({{.group = "h"}, {.group = "g", .pipe_directory = "/own"}});
  EXPECT_EQ(kill(pid, 0), 0);
  EXPECT_TRUE(std::filesystem::exists(first));
  EXPECT_NE(*servers.PipeDirectory({.group = "g"}).value(), first);
  pipes = nullptr;
  EXPECT_FALSE(std::filesystem::exists(first));
}

TEST_F(MpsServersTest, ServersEndWithTheirControlDaemons) {
  MpsServers servers(
      Options("sleep 1000 & echo $! > $CUDA_MPS_LOG_DIRECTORY/server; " +
              std::string(kServes)));
  ASSERT_OK_AND_ASSIGN(const MpsServers::Pipes pipes,
                       servers.PipeDirectory({.group = "g"}));
  pid_t server = 0;
  ASSERT_TRUE(std::ifstream(*pipes + "/../log/server") >> server);
  const UniqueFd watched(static_cast<int>(syscall(SYS_pidfd_open, server, 0)));
  ASSERT_TRUE(watched.valid());
  servers.End();
  EXPECT_FALSE(std::filesystem::exists(*pipes));
  pollfd ended = {.fd = watched.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, /*milliseconds=*/10'000), 1);
  EXPECT_THAT(servers.PipeDirectory({.group = "g"}).status(),
              StatusIs(absl::StatusCode::kUnavailable, "stopping"));
  EXPECT_EQ(starts_, 1);
}

TEST_F(MpsServersTest, AControlDaemonIsAskedToEndBeforeItIsKilled) {
  // A shell cannot trap a signal that it was started to ignore.
  const std::string heeds = "env --default-signal=TERM ";
  if (std::system((heeds + "true 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "env knows no --default-signal";
  }
  const std::string asked = directory_ + "/asked";
  MpsServers::Options options =
      Options("exec " + heeds + "/bin/sh -c 'trap \"touch " + asked +
              "; exit\" TERM; "
              "touch $CUDA_MPS_PIPE_DIRECTORY/control; "
              "while true; do sleep 1000; done'");
  options.end_time = absl::Minutes(1);
  MpsServers servers(options);
  ASSERT_OK(servers.PipeDirectory({.group = "g"}).status());
  servers.End();
  EXPECT_TRUE(std::filesystem::exists(asked));
}

TEST_F(MpsServersTest, WithoutAControlDaemonGroupsAreRefusedOnGpus) {
  MpsServers::Options options = Options(kServes);
  options.control_daemon.clear();
  MpsServers on_gpus(options);
  EXPECT_THAT(on_gpus.PipeDirectory({.group = "g"}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "there is no nvidia-cuda-mps-control"));
  options.on_gpus = false;
  MpsServers on_processors(options);
  EXPECT_OK(on_processors.PipeDirectory({.group = "g"}).status());
  EXPECT_EQ(starts_, 0);
}

TEST_F(MpsServersTest, AnOperatorsControlDaemonIsUsedIfItIsThere) {
  MpsServers servers(Options(kServes));
  const Concurrency group = {.group = "g", .pipe_directory = directory_};
  EXPECT_THAT(servers.PipeDirectory(group).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "CUDA_MPS_PIPE_DIRECTORY=" + directory_));
  std::ofstream(directory_ + "/control") << "";
  EXPECT_EQ(*servers.PipeDirectory(group).value(), directory_);
  EXPECT_EQ(starts_, 0);
}

TEST_F(MpsServersTest, TheControlDaemonIsFoundInThePath) {
  const std::string file = directory_ + "/nvidia-cuda-mps-control";
  std::ofstream(file) << "";
  EXPECT_EQ(MpsServers::FindControlDaemon("/nowhere::" + directory_), "");
  chmod(file.c_str(), 0755);
  EXPECT_EQ(MpsServers::FindControlDaemon("/nowhere::" + directory_), file);
}

}  // namespace
}  // namespace holdfast::supervisor
