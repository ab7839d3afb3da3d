// SPDX-License-Identifier: Apache-2.0
//
// The examples, each on a private daemon of its own; and what is left of one.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
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

TEST_F(EmbeddedTest, Saxpy) {
  const Outcome outcome =
      RunProgram({ProgramPath("SAXPY"), kAddress, "--n=1000000"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, "1000000 of 1000000 right"))
      << outcome.out;
}

TEST_F(EmbeddedTest, VectorAdd) {
  const Outcome outcome = RunProgram({ProgramPath("VECTOR_ADD"), kAddress});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(EmbeddedTest, InPlace) {
  const Outcome outcome = RunProgram({ProgramPath("IN_PLACE"), kAddress});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(EmbeddedTest, Scale) {
  const Outcome outcome = RunProgram({ProgramPath("SCALE"), kAddress});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(EmbeddedTest, CapturedPipeline) {
  const Outcome outcome =
      RunProgram({ProgramPath("CAPTURED_PIPELINE"), kAddress});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(EmbeddedTest, Converge) {
  const Outcome outcome = RunProgram({ProgramPath("CONVERGE"), kAddress});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(EmbeddedTest, HashSearch) {
  const Outcome outcome =
      RunProgram({ProgramPath("HASH_SEARCH"), kAddress, "--zeros=5"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  // Python's hashlib finds none with a lower nonce.
  EXPECT_TRUE(absl::StrContains(
      outcome.out,
      "sha256(\"0001aa62 holdfast\") = "
      "0000077ba0a46e7395949f17a6fcf470ca82ecd897294d99722a3a8c4ce8efc2\n"))
      << outcome.out;
}

TEST_F(EmbeddedTest, Mandelbrot) {
  const Outcome outcome = RunProgram({ProgramPath("MANDELBROT"), kAddress});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, "@@@@@@@@@@@@@@@@@@@@"))
      << outcome.out;
  EXPECT_TRUE(absl::StrContains(outcome.out, " 0 differ")) << outcome.out;
}

TEST_F(EmbeddedTest, NBody) {
  const Outcome outcome =
      RunProgram({ProgramPath("NBODY"), kAddress, "--blocks=3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, "768 bodies, 50 steps"))
      << outcome.out;
}

TEST_F(EmbeddedTest, UpdateGraph) {
  const Outcome outcome = RunProgram({ProgramPath("UPDATE_GRAPH"), kAddress});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(EmbeddedTest, Survive) {
  const Outcome outcome = RunProgram({ProgramPath("SURVIVE"), kAddress});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(EmbeddedTest, SharedModel) {
  const Outcome outcome = RunProgram({ProgramPath("SHARED_MODEL"), kAddress});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  for (const char* line :
       {"has loaded version 1", "engine 1 is killed", "version 2 is committed",
        "engine 3 has moved over and answers right"}) {
    EXPECT_TRUE(absl::StrContains(outcome.out, line)) << outcome.out;
  }
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
