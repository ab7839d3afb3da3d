// SPDX-License-Identifier: Apache-2.0
//
// The examples, each on a private daemon of its own; and what is left of one.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "client/cpp/session.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {
namespace {

constexpr char kAddress[] = "--address=embedded:device=cpu";

// A directory for the private daemons of one test.
class EmbeddedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = "/tmp/holdfast-e2e-XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    setenv("TMPDIR", directory_.c_str(), 1);
    setenv("CACHE_DIRECTORY", testing::TempDir().c_str(), 1);
  }
  void TearDown() override {
    // Nothing of a daemon outlives its client for long.
    EXPECT_TRUE(
        Eventually([this] { return std::filesystem::is_empty(directory_); }));
    std::filesystem::remove_all(directory_);
  }

  std::string directory_;
};

// Runs an example, which has to print `text`.
void ExpectPrints(const char* program, const std::string& text,
                  std::vector<std::string> options = {}) {
  options.insert(options.begin(), {ProgramPath(program), kAddress});
  const Outcome outcome = RunProgram(options);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, text)) << outcome.out;
}

TEST_F(EmbeddedTest, Saxpy) {
  ExpectPrints("SAXPY", "1000000 of 1000000 right", {"--n=1000000"});
}

TEST_F(EmbeddedTest, VectorAdd) {
  ExpectPrints("VECTOR_ADD", "vector_add<float>: 50000 of 50000 right");
}

TEST_F(EmbeddedTest, InPlace) {
  ExpectPrints("IN_PLACE", "squares: 1048576 of 1048576 right");
}

TEST_F(EmbeddedTest, Scale) {
  ExpectPrints("SCALE", "two streams: b waited for a, * 2: 1024 of 1024 right");
}

TEST_F(EmbeddedTest, CapturedPipeline) {
  ExpectPrints("CAPTURED_PIPELINE", "with (x, sum) after");
  ExpectPrints("CAPTURED_PIPELINE", "after 100 launches: the sum is 8796160");
  ExpectPrints("CAPTURED_PIPELINE", "digraph", {"--dot"});
}

TEST_F(EmbeddedTest, Converge) {
  ExpectPrints("CONVERGE", "converged: 1024 of 1024 right");
}

TEST_F(EmbeddedTest, HashSearch) {
  // A program in Python finds none with a lower nonce.
  ExpectPrints("HASH_SEARCH",
               "fnv1a(\"00291c43 holdfast\") = 00000ed24d856ef8\n",
               {"--zeros=5"});
}

TEST_F(EmbeddedTest, Mandelbrot) {
  ExpectPrints("MANDELBROT", "@@@@@@@@@@@@@@@@@@@@");
  ExpectPrints("MANDELBROT", "4056 of 4056 right", {"--pictures=3"});
}

TEST_F(EmbeddedTest, NBody) {
  ExpectPrints("NBODY", "2048 bodies, 50 steps: speeds up to ");
}

TEST_F(EmbeddedTest, UpdateGraph) {
  ExpectPrints("UPDATE_GRAPH", "everything, 1 * 3 + 5: 256 of 256 right");
}

TEST_F(EmbeddedTest, Survive) {
  const Outcome outcome = RunProgram({ProgramPath("SURVIVE"), kAddress});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  for (const char* text : {"fault of epoch 1", "fault of epoch 3"}) {
    EXPECT_TRUE(absl::StrContains(outcome.out, text)) << outcome.out;
  }
}

TEST_F(EmbeddedTest, RecoveryRounds) {
  ExpectPrints("RECOVERY_ROUNDS", ": 0 words wrong",
               {"--megabytes=8", "--streams=2", "--graphs=2"});
}

TEST_F(EmbeddedTest, SharedModel) {
  const Outcome outcome = RunProgram({ProgramPath("SHARED_MODEL"), kAddress});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const std::vector<std::string> lines =
      absl::StrSplit(outcome.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3u) << outcome.out;
  const std::string right = ": 1048576 of 1048576 right";
  EXPECT_TRUE(absl::EndsWith(lines[0], " loads" + right)) << outcome.out;
  EXPECT_TRUE(absl::EndsWith(lines[1], " maps" + right)) << outcome.out;
  EXPECT_TRUE(absl::EndsWith(lines[2], " maps" + right)) << outcome.out;
}

TEST_F(EmbeddedTest, AClientThatIsKilledLeavesNothing) {
  Process client({ProgramPath("HOLDING_CLIENT"), "embedded:device=cpu"});
  ASSERT_NE(client.ReadLine(), "");
  EXPECT_FALSE(std::filesystem::is_empty(directory_));
  client.Signal(SIGKILL);
  client.Finish();
}

TEST_F(EmbeddedTest, TwoInOneProcessAreApart) {
  auto first = Session::Open({.address = "embedded:device=cpu"});
  auto second = Session::Open({.address = "embedded:device=cpu"});
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE((*first)->daemon().address().text,
            (*second)->daemon().address().text);
  EXPECT_EQ((*first)->daemon().Sessions()->size(), 1u);
}

TEST_F(EmbeddedTest, AnOptionThatTheDaemonRefusesIsAnError) {
  const auto session = Session::Open({.address = "embedded:device=toaster"});
  EXPECT_TRUE(absl::IsUnavailable(session.status())) << session.status();
}

}  // namespace
}  // namespace holdfast::e2e
