// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "deploy/node/node_daemon.h"
#include "deploy/node/program.h"
#include "deploy/slurm/gres_count.h"
#include "deploy/slurm/handover.h"
#include "deploy/slurm/job_options.h"
#include "deploy/slurm/site.h"

namespace holdfast::slurm {
namespace {

using node::Answer;
using node::DescribeUsage;
using node::NodeDaemon;
using node::Outcome;
using node::RunProgram;
using node::TenantOptions;

TEST(JobOptionsTest, EveryPartMayBeLeftOut) {
  TenantOptions options;
  std::string error;
  ASSERT_TRUE(ParseJobOptions("", &options, &error)) << error;
  EXPECT_EQ(options.memory_bytes, 0u);
  EXPECT_EQ(options.weight, 1u);
  EXPECT_EQ(options.reserved_bytes, 0u);
  EXPECT_EQ(options.group, "");
  ASSERT_TRUE(ParseJobOptions(
      "mem=8G,reserve=4G,weight=2,devices=1,group=batch-1", &options, &error))
      << error;
  EXPECT_EQ(options.group, "batch-1");
  EXPECT_EQ(options.reserved_bytes, uint64_t{4} << 30);
  EXPECT_EQ(options.memory_bytes, uint64_t{8} << 30);
  EXPECT_EQ(options.weight, 2u);
  EXPECT_EQ(options.devices, 1u);
  ASSERT_TRUE(ParseJobOptions("mem=512m", &options, &error)) << error;
  EXPECT_EQ(options.memory_bytes, uint64_t{512} << 20);
}

TEST(JobOptionsTest, AnythingElseIsRefusedAndNamed) {
  for (const char* text : {"mem",
                           "mem=",
                           "mem=0",
                           "mem=-1",
                           "mem=8GB",
                           "mem=8X",
                           "mem=1025T",
                           "mem=99999999999999999999",
                           "weight=0",
                           "weight=1001",
                           "weight=1.5",
                           "devices=0",
                           "devices=all",
                           "reserve=0",
                           "reserve=4GiB",
                           "share=yes",
                           "group=",
                           "group=a b",
                           "group=--json\"",
                           "mem=8G,",
                           ",",
                           "=",
                           "mem=8G;x",
                           "weight=2,mem=\n"}) {
    TenantOptions options;
    std::string error;
    EXPECT_FALSE(ParseJobOptions(text, &options, &error)) << text;
    EXPECT_EQ(error.rfind("--holdfast: '", 0), 0u) << error;
  }
}

TEST(SiteTest, TakesTheWordsOfPlugstack) {
  std::vector<std::string> words = {"cli=/opt/holdfast", "gres=holdfast_mem"};
  std::vector<char*> pointers = {words[0].data(), words[1].data()};
  Site site;
  std::string error;
  ASSERT_TRUE(ParseSite(2, pointers.data(), &site, &error)) << error;
  EXPECT_EQ(site.cli, "/opt/holdfast");
  EXPECT_EQ(site.gres, "holdfast_mem");
  EXPECT_EQ(site.directory, "/run/holdfast-slurm");
  words[1] = "color=blue";
  pointers[1] = words[1].data();
  EXPECT_FALSE(ParseSite(2, pointers.data(), &site, &error));
  EXPECT_NE(error.find("'color=blue'"), std::string::npos) << error;
}

TEST(GresCountTest, ReadsSlurmsLists) {
  EXPECT_EQ(CountIn("gres:holdfast_mem:8", "holdfast_mem"), 8u);
  EXPECT_EQ(CountIn("gres:gpu:2,gres:holdfast_mem:12", "holdfast_mem"), 12u);
  EXPECT_EQ(CountIn("gres/gpu=2;gres/holdfast_mem=3", "holdfast_mem"), 3u);
  EXPECT_EQ(CountIn("gres:holdfast_mem", "holdfast_mem"), 1u);
  EXPECT_EQ(CountIn("gres:holdfast_memory:5", "holdfast_mem"), 0u);
  EXPECT_EQ(CountIn("", "holdfast_mem"), 0u);
  EXPECT_EQ(CountIn("gres:,,;holdfast_mem:7", "holdfast_mem"), 0u);
}

TEST(RunProgramTest, ReturnsOutputAndExitCode) {
  const Outcome outcome =
      RunProgram({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, 30);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
}

TEST(RunProgramTest, PassesNothingOfTheEnvironment) {
  setenv("LD_PRELOAD_OF_A_JOB", "1", 1);
  EXPECT_EQ(RunProgram({"/usr/bin/env"}, 30).out, "");
}

TEST(RunProgramTest, OneThatHangsIsKilled) {
  const Outcome outcome = RunProgram({"/bin/sleep", "1000"}, 0);
  EXPECT_EQ(outcome.exit_code, -1);
  EXPECT_NE(outcome.err.find("no answer within"), std::string::npos);
}

TEST(RunProgramTest, OneThatIsNotThereIsAnError) {
  const Outcome outcome = RunProgram({"/nowhere/holdfast"}, 30);
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_NE(outcome.err, "");
}

class InDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/holdfast-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  ~InDirectory() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

using HandoverTest = InDirectory;

TEST_F(HandoverTest, OnlyTheJobsUserCanRead) {
  const HandoverDirectory handovers(directory_ + "/jobs");
  ASSERT_EQ(handovers.Write(17, getuid(), {.token = "secret"}), "");
  struct stat info = {};
  ASSERT_EQ(stat((directory_ + "/jobs/17").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0400u);
  EXPECT_EQ(info.st_uid, getuid());
  EXPECT_EQ(handovers.Read(17)->token, "secret");
  EXPECT_FALSE(handovers.Read(18).has_value());
  // A job that is queued again.
  ASSERT_EQ(handovers.Write(17, getuid(), {.refusal = "no room"}), "");
  EXPECT_EQ(handovers.Read(17)->refusal, "no room");
  EXPECT_EQ(handovers.Read(17)->token, "");
  handovers.Remove(17);
  EXPECT_FALSE(handovers.Read(17).has_value());
}

TEST_F(HandoverTest, ADirectoryOfOthersIsRefused) {
  std::filesystem::create_directory(directory_ + "/jobs");
  chmod((directory_ + "/jobs").c_str(), 0777);
  const HandoverDirectory handovers(directory_ + "/jobs");
  EXPECT_NE(handovers.Write(17, getuid(), {.token = "secret"}), "");
  std::filesystem::create_symlink("/tmp", directory_ + "/link");
  EXPECT_NE(HandoverDirectory(directory_ + "/link").Write(17, getuid(), {}),
            "");
}

// A command line `holdfast` that notes what it is asked.
class NodeDaemonTest : public InDirectory {
 protected:
  NodeDaemon DaemonThat(const std::string& script) {
    const std::string cli = directory_ + "/holdfast";
    std::ofstream(cli) << "#!/bin/sh\necho \"$@\" >>" << directory_
                       << "/asked\n"
                       << script << "\n";
    chmod(cli.c_str(), 0755);
    return NodeDaemon(cli, "unix:/x");
  }
  std::string Asked() {
    std::ifstream file(directory_ + "/asked");
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(NodeDaemonTest, ATenantGetsTheFreestDevices) {
  const NodeDaemon daemon = DaemonThat(R"(
    case "$1" in
      devices) echo '{"devices": [{"ordinal": 0, "free_memory": 5},
                 {"ordinal": 1, "free_memory": 9}, {"ordinal": 2}]}' ;;
      tenants) echo '{"name": "slurm-1", "token": "secret"}' ;;
    esac)");
  const Answer answer =
      daemon.CreateTenant("slurm-1", {.memory_bytes = 1024, .devices = 2});
  ASSERT_TRUE(answer.done()) << answer.text;
  EXPECT_EQ(answer.text, "secret");
  EXPECT_NE(Asked().find("tenants create slurm-1 --weight=1 --memory=1024 "
                         "--devices=1,0 --json --address=unix:/x\n"),
            std::string::npos)
      << Asked();
  EXPECT_TRUE(daemon.CreateTenant("slurm-2", {.reserved_bytes = 7}).done());
  EXPECT_NE(Asked().find("create slurm-2 --weight=1 --reserve=7 --json"),
            std::string::npos)
      << Asked();
  EXPECT_TRUE(daemon.CreateTenant("slurm-3", {.group = "batch"}).done());
  EXPECT_NE(Asked().find("create slurm-3 --weight=1 --group=batch --json"),
            std::string::npos)
      << Asked();
  EXPECT_EQ(daemon.CreateTenant("slurm-1", {.devices = 4}).kind,
            Answer::Kind::kRefused);
}

TEST_F(NodeDaemonTest, ATenantThatAnEarlierRunHasLeftIsEndedFirst) {
  const NodeDaemon daemon = DaemonThat(R"(
    case "$2" in
      end) touch $0.ended; echo '{}' ;;
      create) [ -e $0.ended ] && echo '{"token": "new"}' && exit
              echo 'holdfast: already exists: slurm-1' >&2; exit 1 ;;
    esac)");
  const Answer answer = daemon.CreateTenant("slurm-1", {});
  ASSERT_TRUE(answer.done()) << answer.text;
  EXPECT_EQ(answer.text, "new");
}

TEST_F(NodeDaemonTest, ARefusalIsTheJobsAndNoAnswerTheNodes) {
  EXPECT_EQ(DaemonThat("echo 'holdfast: resource exhausted' >&2; exit 1")
                .CreateTenant("slurm-1", {})
                .kind,
            Answer::Kind::kRefused);
  for (const char* script : {"exit 3", "exit 2", "kill -9 $$", "echo '{}'",
                             "echo 'no JSON'", "echo '[1]'"}) {
    EXPECT_EQ(DaemonThat(script).CreateTenant("slurm-1", {}).kind,
              Answer::Kind::kBroken)
        << script;
  }
}

TEST_F(NodeDaemonTest, EndingATenantThatIsGoneIsNoError) {
  EXPECT_TRUE(
      DaemonThat("echo 'holdfast: not found: no tenant slurm-1' >&2; exit 1")
          .EndTenant("slurm-1", "over")
          .done());
  EXPECT_EQ(DaemonThat("exit 3").EndTenant("slurm-1", "over").kind,
            Answer::Kind::kBroken);
}

TEST_F(NodeDaemonTest, ADeviceInQuarantineIsNamed) {
  EXPECT_TRUE(DaemonThat(R"(echo '{"devices": [{"ordinal": 0},
      {"ordinal": 1, "health": {"state": "ready"}}]}')")
                  .CheckHealth()
                  .done());
  const Answer answer = DaemonThat(R"(echo '{"devices": [{"ordinal": 1,
      "health": {"state": "quarantined", "reason": "it hung"}}]}')")
                            .CheckHealth();
  EXPECT_EQ(answer.text, "device 1 is in quarantine: it hung");
  EXPECT_FALSE(answer.done());
}

TEST(DescribeUsageTest, NamesWhatThereIs) {
  EXPECT_EQ(DescribeUsage(R"({"peak_device_bytes": 3145728})"),
            "holdfast: peak memory 3.0 MiB");
  EXPECT_EQ(DescribeUsage(R"({"peak_device_bytes": 0, "gpu_seconds": 1.25})"),
            "holdfast: peak memory 0.0 MiB, GPU time 1.2 s");
  EXPECT_EQ(DescribeUsage("nonsense"), "holdfast: peak memory 0.0 MiB");
}

}  // namespace
}  // namespace holdfast::slurm
