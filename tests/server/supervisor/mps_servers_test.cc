// SPDX-License-Identifier: Apache-2.0
//
// Control daemons of MPS, for which shell scripts stand: no GPU is needed.
#include "server/supervisor/mps_servers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/process/spawner.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
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
            .start = [this, script](const std::vector<std::string>& variables) {
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
  int starts_ = 0;
  pid_t pid_ = 0;
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
    ASSERT_OK_AND_ASSIGN(pipes, servers.PipeDirectory({.group = "inference"}));
    // Users besides the daemon's own reach the pipes and can write the log.
    struct stat info {};
    for (const auto& [path, mode] :
         {std::pair{pipes, 0711u}, std::pair{pipes + "/..", 0711u},
          std::pair{pipes + "/../log", 01733u}}) {
      ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
      EXPECT_EQ(info.st_mode & 07777, mode) << path;
    }
    EXPECT_EQ(servers.PipeDirectory({.group = "inference"}).value(), pipes);
    EXPECT_EQ(starts_, 1);
    EXPECT_NE(servers.PipeDirectory({.group = "training"}).value(), pipes);
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
  EXPECT_EQ(servers.PipeDirectory(group).value(), directory_);
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
}  // namespace holdfast
