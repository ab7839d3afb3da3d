// SPDX-License-Identifier: Apache-2.0
//
// A scheduler's way with tenants, by the command line: a job gets a token, uses
// the daemon with it, and is ended.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

class TenantsTest : public ::testing::Test {
 protected:
  Outcome Holdfast(std::vector<std::string> arguments,
                   const std::map<std::string, std::string>& environment = {}) {
    arguments.insert(arguments.begin(), ProgramPath("HOLDFAST_CLI"));
    arguments.push_back("--address=" + daemon_.address());
    return RunProgram(arguments, environment);
  }

  std::string NewToken(const std::string& name) {
    const Outcome made = Holdfast({"tenants", "create", name, "--memory=1MiB",
                                   "--sessions=2", "--lifetime=1h"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return std::string(absl::StripSuffix(made.out, "\n"));
  }

  DaemonProcess daemon_;
};

TEST_F(TenantsTest, AJobRunsWithItsTokenWithinItsQuotaAndEnds) {
  const std::string token = NewToken("slurm-1");
  const std::string model = daemon_.directory() + "/model.safetensors";
  const std::string header =
      R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})";
  const uint64_t size = header.size();
  std::ofstream(model) << std::string(reinterpret_cast<const char*>(&size), 8)
                       << header << std::string(16, '\1');
  const std::map<std::string, std::string> job = {{"HOLDFAST_TOKEN", token}};
  const Outcome loaded = Holdfast({"collection", "load", "model", model}, job);
  ASSERT_EQ(loaded.exit_code, 0) << loaded.err;

  const Outcome listed = Holdfast({"tenants", "ls", "--json"});
  EXPECT_TRUE(absl::StrContains(listed.out, "\"slurm-1\"")) << listed.out;
  const Outcome own = Holdfast({"tenants", "ls"}, job);
  EXPECT_TRUE(absl::StrContains(own.out, "0 of 2")) << own.out;
  EXPECT_TRUE(absl::StrContains(own.out, "of 1.0 MiB")) << own.out;
  const Outcome shown = Holdfast({"collection", "show", "model"});
  EXPECT_TRUE(absl::StrContains(shown.out, "slurm-1")) << shown.out;

  EXPECT_TRUE(absl::StrContains(listed.out, "\"gpu_seconds\":")) << listed.out;

  const Outcome drain = Holdfast({"admin", "drain"}, job);
  EXPECT_EQ(drain.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(drain.err, "unset HOLDFAST_TOKEN"))
      << drain.err;

  const Outcome ended = Holdfast({"tenants", "end", "slurm-1"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out, "s of GPU time")) << ended.out;
  EXPECT_NE(Holdfast({"collection", "show", "model"}).exit_code, 0);
  const Outcome refused = Holdfast({"sessions"}, job);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(refused.err, "names no tenant")) << refused.err;
}

TEST_F(TenantsTest, PrioritiesAreGivenByName) {
  const Outcome help = Holdfast({"tenants", "create", "--help"});
  EXPECT_TRUE(absl::StrContains(help.out, "CLASS:{low,normal,high}\n"))
      << help.out;
  const Outcome made =
      Holdfast({"tenants", "create", "job", "--stream-priorities=high"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const Outcome listed = Holdfast({"tenants", "ls", "--json"});
  EXPECT_TRUE(absl::StrContains(listed.out, "\"stream_priorities\": \"high\""))
      << listed.out;
  const Outcome refused =
      Holdfast({"tenants", "create", "x", "--stream-priorities=3"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(absl::StrContains(refused.err, "3 not in {low,normal,high}"))
      << refused.err;
}

TEST_F(TenantsTest, AJobMayHaveMemoryReservedAndItsCompilationBounded) {
  const Outcome made =
      Holdfast({"tenants", "create", "job", "--memory=8MiB", "--reserve=4MiB",
                "--compile-time=1.5m", "--compile-requests=2"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const Outcome listed = Holdfast({"tenants", "ls"});
  EXPECT_TRUE(absl::StrContains(listed.out, "4.0 MiB")) << listed.out;
  EXPECT_TRUE(absl::StrContains(listed.out, "0.0 of 90 s")) << listed.out;
  const Outcome json = Holdfast({"tenants", "ls", "--json"});
  for (const char* const member :
       {"\"reserved_device_bytes\": 4194304", "\"compile_requests\": 2",
        "\"compile_seconds_per_hour\": 90"}) {
    EXPECT_TRUE(absl::StrContains(json.out, member)) << json.out;
  }
  const Outcome more = Holdfast({"tenants", "create", "x", "--reserve=900TiB"});
  EXPECT_EQ(more.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(more.err, "memory of device 0")) << more.err;
  EXPECT_TRUE(absl::StrContains(more.err, "reserved for other")) << more.err;
  EXPECT_NE(
      Holdfast({"tenants", "create", "x", "--compile-time=soon"}).exit_code, 0);
  const Outcome group = Holdfast({"tenants", "create", "x", "--group=mine"});
  EXPECT_EQ(group.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(group.err, "no group 'mine'")) << group.err;
}

TEST_F(TenantsTest, ATokenMayComeFromAFileAndABadOneIsAClearError) {
  const std::string path = daemon_.directory() + "/token";
  std::ofstream(path) << " " << NewToken("pod") << "\n";
  const Outcome listed =
      Holdfast({"tenants", "ls"}, {{"HOLDFAST_TOKEN_FILE", path}});
  EXPECT_TRUE(absl::StrContains(listed.out, "pod")) << listed.err;
  const Outcome missing =
      Holdfast({"tenants", "ls"}, {{"HOLDFAST_TOKEN_FILE", path + "x"}});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(missing.err, "cannot read")) << missing.err;
  // gRPC would end the process at such a header.
  const Outcome odd = Holdfast({"tenants", "ls"}, {{"HOLDFAST_TOKEN", "a\nb"}});
  EXPECT_EQ(odd.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(odd.err, "printable")) << odd.err;
}

}  // namespace
}  // namespace holdfast::e2e
