// SPDX-License-Identifier: Apache-2.0
//
// Completion of the command line, as bash does it with the program's script.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/file.h"
#include "client/cpp/session.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {
namespace {

using Words = std::vector<std::string>;

// Completes the last of the words behind the program's name.
constexpr char kBash[] = R"(
cd "$1" && . ./completion.bash && shift
COMP_WORDS=(holdfast "$@")
COMP_CWORD=$#
_holdfast
printf '%s\n' "${COMPREPLY[@]}"
)";

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    const Outcome script =
        RunProgram({ProgramPath("HOLDFAST_CLI"), "completion", "bash"});
    EXPECT_EQ(script.exit_code, 0) << script.err;
    EXPECT_TRUE(cli::WriteFile(Path("completion.bash"), script.out).ok());
    EXPECT_TRUE(cli::WriteFile(Path("saxpy.cu"), "").ok());
  }

  std::string Path(const std::string& name) const {
    return absl::StrCat(daemon_.directory(), "/", name);
  }

  Words Bash(const Words& words, const std::string& address) const {
    Words line = {"/bin/bash", "-c", kBash, "-", daemon_.directory()};
    line.insert(line.end(), words.begin(), words.end());
    const std::string program =
        std::filesystem::absolute(ProgramPath("HOLDFAST_CLI")).string();
    const std::string folder = program.substr(0, program.rfind('/'));
    const Outcome outcome =
        RunProgram(line, {{"PATH", absl::StrCat(folder, ":/usr/bin:/bin")},
                          {"HOLDFAST_ADDRESS", address}});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return absl::StrSplit(outcome.out, '\n', absl::SkipEmpty());
  }
  Words Bash(const Words& words) const {
    return Bash(words, daemon_.address());
  }

  DaemonProcess daemon_;
};

TEST_F(CompletionTest, CommandsOptionsValuesAndFiles) {
  EXPECT_EQ(Bash({"sess"}), Words{"sessions"});
  EXPECT_EQ(Bash({"help", "collection", "veri"}), Words{"verify"});
  EXPECT_EQ(Bash({"sessions", "--us"}), Words{"--usage"});
  EXPECT_EQ(Bash({"collection", "suspend", "--to", "="}),
            (Words{"host", "disk"}));
  EXPECT_EQ(Bash({"completion", "z"}), Words{"zsh"});
  EXPECT_EQ(Bash({"run", "sax"}), Words{"saxpy.cu"});
  EXPECT_EQ(Bash({"--address", "emb"}), Words{"embedded:"});
}

TEST_F(CompletionTest, BehindExecAProgramAndItsFiles) {
  EXPECT_EQ(Bash({"exec", "--device=cpu", "--", "sha256su"}),
            Words{"sha256sum"});
  EXPECT_EQ(Bash({"exec", "--", "ls", "sax"}), Words{"saxpy.cu"});
  EXPECT_EQ(Bash({"exec", "sha256su"}), Words{"sha256sum"});
  EXPECT_EQ(Bash({"exec", "ls", "sax"}), Words{"saxpy.cu"});
  EXPECT_EQ(Bash({"exec", "ls", "--dev"}), Words{});
  // An option of the program's, not of exec.
  EXPECT_EQ(Bash({"exec", "--", "ls", "--dev"}), Words{});
}

TEST_F(CompletionTest, SessionsAreThoseOfTheDaemon) {
  const auto session = Session::Open({.address = daemon_.address()});
  ASSERT_TRUE(session.ok()) << session.status();
  const Words here = {std::string((*session)->id())};
  EXPECT_EQ(Bash({"sessions", "end", ""}), here);
  EXPECT_EQ(Bash({"attach", "s-"}), here);
  EXPECT_EQ(Bash({"--address", daemon_.address(), "attach", ""},
                 "unix:/nowhere/at-all.sock"),
            here);
}

TEST_F(CompletionTest, NothingIsSaidWhereNoDaemonAnswers) {
  for (const char* address :
       {"unix:/nowhere/at-all.sock", "embedded:", "not an address"}) {
    EXPECT_EQ(Bash({"sessions", "end", ""}, address), Words{}) << address;
    EXPECT_EQ(Bash({"collection", "show", ""}, address), Words{}) << address;
  }
}

TEST_F(CompletionTest, EveryShellHasAScript) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome script =
        RunProgram({ProgramPath("HOLDFAST_CLI"), "completion", shell});
    EXPECT_EQ(script.exit_code, 0) << script.err;
    EXPECT_TRUE(absl::StrContains(script.out, "holdfast __complete")) << shell;
  }
  const Outcome none =
      RunProgram({ProgramPath("HOLDFAST_CLI"), "completion", "ksh"});
  EXPECT_EQ(none.exit_code, 2);
}

}  // namespace
}  // namespace holdfast::e2e
