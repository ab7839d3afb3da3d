// SPDX-License-Identifier: Apache-2.0
//
// `holdfast graph`, as a shell runs it.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "client/cli/file.h"
#include "client/cli/npy.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void scale(float* x, float factor) {
  x[threadIdx.x] *= factor;
}
extern "C" __global__ void add(float* to, const float* from) {
  to[threadIdx.x] += from[threadIdx.x];
}
)";

// sum += 2 * x, by way of memory that nobody gives.
constexpr char kGraph[] = R"({
  "kernels": [{"id": 1, "source": "kernels.cu", "name": "scale"},
              {"id": 2, "source": "kernels.cu", "name": "add"}],
  "buffers": [{"id": 1, "name": "x", "size": 16},
              {"id": 2, "name": "doubled", "size": 16, "scratch": true},
              {"id": 3, "name": "sum"}],
  "definition": {"nodes": [
    {"id": 1, "copy": {"destination": 2, "source": 1, "size": 16}},
    {"id": 2, "after": [1], "launch": {
        "kernel": 1, "grid": {"x": 1}, "block": {"x": 4},
        "arguments": [{"buffer": {"buffer": 2}}, {"f32": 2}]}},
    {"id": 3, "after": [2], "launch": {
        "kernel": 2, "grid": {"x": 1}, "block": {"x": 4},
        "arguments": [{"buffer": {"buffer": 3}}, {"buffer": {"buffer": 2}}]}}
  ]}
})";

class GraphCliTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    daemon_ = new DaemonProcess();
    ASSERT_TRUE(cli::WriteFile(Path("kernels.cu"), kSource).ok());
    ASSERT_TRUE(cli::WriteFile(Path("graph.json"), kGraph).ok());
    const float x[] = {1, 2, 3, 4};
    cli::Array array = {cli::ElementType::kF32, {4}, std::string(16, '\0')};
    std::memcpy(array.bytes.data(), x, sizeof x);
    ASSERT_TRUE(cli::WriteNpy(Path("x.npy"), array).ok());
  }
  static void TearDownTestSuite() { delete daemon_; }

  static std::string Path(const std::string& name) {
    return daemon_->directory() + "/" + name;
  }
  static Outcome Graph(std::vector<std::string> arguments,
                       const std::string& address = daemon_->address()) {
    arguments.insert(arguments.begin(), {ProgramPath("HOLDFAST_CLI"), "graph"});
    return RunProgram(arguments, {{"HOLDFAST_ADDRESS", address}});
  }
  static void ExpectFailure(const Outcome& outcome, const std::string& text) {
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_TRUE(absl::StrContains(outcome.err, text)) << outcome.err;
  }
  // A file like graph.json with one thing changed.
  static std::string Changed(const std::string& from, const std::string& to) {
    EXPECT_TRUE(cli::WriteFile(Path("changed.json"),
                               absl::StrReplaceAll(kGraph, {{from, to}}))
                    .ok());
    return Path("changed.json");
  }

  static DaemonProcess* daemon_;
};

DaemonProcess* GraphCliTest::daemon_ = nullptr;

TEST_F(GraphCliTest, RunsAFileOnNumpyFiles) {
  const Outcome outcome =
      Graph({"run", Path("graph.json"), "--repeat", "3", "--json",
             "in:" + Path("x.npy"), "out:" + Path("sum.npy") + ":f32[4]"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, R"("nodes": 3, "launch_ms": [)"))
      << outcome.out;
  const auto result = cli::ReadNpy(Path("sum.npy"));
  ASSERT_TRUE(result.ok()) << result.status();
  std::vector<float> sum(4);
  std::memcpy(sum.data(), result->bytes.data(), 16);
  EXPECT_EQ(sum, (std::vector<float>{6, 12, 18, 24}));
}

TEST_F(GraphCliTest, DrawsAFileWithoutADaemon) {
  const Outcome outcome =
      Graph({"dot", Path("graph.json")}, "unix:/nowhere/at/all");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(absl::StrContains(
      outcome.out,
      "n2 [label=\"2: launch scale, grid 1, block 4, with (doubled, 2)\"];"))
      << outcome.out;
  EXPECT_TRUE(absl::StrContains(outcome.out, "n2 -> n3;")) << outcome.out;
}

TEST_F(GraphCliTest, TellsWhatIsWrongWithAFile) {
  ExpectFailure(Graph({"dot", Path("kernels.cu")}), ".json or a .textproto");
  ExpectFailure(Graph({"dot", Changed("\"kernel\": 2", "\"kernel\": 7")}),
                "node 3: the file has no kernel 7");
  ExpectFailure(Graph({"dot", Changed("\"after\": [1]", "\"after\": [3]")}),
                "node 2: it is to come after node 3");
  ExpectFailure(
      Graph({"dot", Changed("\"id\": 3, \"name\"", "\"id\": 2, \"name\"")}),
      "buffer 2 is there twice");
  ExpectFailure(Graph({"dot", Changed("definition", "defintion")}),
                "defintion");
}

TEST_F(GraphCliTest, ArraysHaveToFitTheirBuffers) {
  ExpectFailure(Graph({"run", Path("graph.json"), "in:" + Path("x.npy")}),
                "sum of the graph has no argument");
  ExpectFailure(Graph({"run", Path("graph.json"), "scratch:20", "scratch:16"}),
                "x has 16 bytes, the array 20");
  ExpectFailure(Graph({"run", Path("graph.json"), "f32:1", "scratch:16"}),
                "arrays only");
  ExpectFailure(Graph({"run", Path("graph.json"), "scratch:16", "scratch:16",
                       "scratch:16"}),
                "takes 2 arguments, not 3");
}

TEST_F(GraphCliTest, TheDaemonsErrorsNameTheNode) {
  ExpectFailure(
      Graph({"run", Changed(", {\"f32\": 2}", ""), "scratch:16", "scratch:16"}),
      "node 2");
}

}  // namespace
}  // namespace holdfast::e2e
