// SPDX-License-Identifier: Apache-2.0
//
// `holdfast top`, on a terminal and elsewhere.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {
namespace {

constexpr char kEnter[] = "\x1b[?1049h";
constexpr char kLeave[] = "\x1b[?1049l";

// A program on a pseudo-terminal, with the test at its other end.
class OnTerminal {
 public:
  OnTerminal(std::vector<std::string> arguments, winsize size) {
    int master = -1;
    pid_ = forkpty(&master, nullptr, nullptr, &size);
    if (pid_ == 0) {
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    }
    terminal_ = UniqueFd(master);
  }
  ~OnTerminal() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  // Reads until the text has come since the last call; false after a while.
  bool Shows(const std::string& text) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (absl::Now() < deadline) {
      const size_t found = shown_.find(text);
      if (found != std::string::npos) {
        shown_.erase(0, found + text.size());
        return true;
      }
      pollfd ready = {terminal_.get(), POLLIN, 0};
      char bytes[4096];
      if (poll(&ready, 1, 1000) <= 0) continue;
      const ssize_t n = read(terminal_.get(), bytes, sizeof bytes);
      if (n <= 0) return absl::StrContains(shown_, text);
      shown_.append(bytes, static_cast<size_t>(n));
    }
    return false;
  }

  void Type(char key) { ASSERT_EQ(write(terminal_.get(), &key, 1), 1); }
  void Resize(winsize size) { ioctl(terminal_.get(), TIOCSWINSZ, &size); }
  void Signal(int number) const { kill(pid_, number); }

  // Does the terminal show what is typed, by lines?
  bool IsCooked() const {
    termios state = {};
    tcgetattr(terminal_.get(), &state);
    return (state.c_lflag & (ICANON | ECHO)) == (ICANON | ECHO);
  }

  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  UniqueFd terminal_;
  std::string shown_;
};

class TopTest : public ::testing::Test {
 protected:
  std::vector<std::string> Command(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {ProgramPath("HOLDFAST_CLI"), "--address",
                                 daemon_.address(), "top"});
    return flags;
  }

  DaemonProcess daemon_;
};

TEST_F(TopTest, RedrawsForANewSizeAndLeavesTheTerminalAsItWas) {
  OnTerminal top(Command({"--interval=3600"}), {24, 120, 0, 0});
  EXPECT_TRUE(top.Shows(kEnter));
  EXPECT_TRUE(top.Shows("NAME"));
  EXPECT_TRUE(top.Shows("CLIENT"));  // the last column
  top.Resize({24, 60, 0, 0});
  EXPECT_TRUE(top.Shows("\x1b[H"));
  EXPECT_TRUE(top.Shows("NAME"));
  EXPECT_FALSE(top.IsCooked());
  top.Type('q');
  EXPECT_TRUE(top.Shows(kLeave));
  EXPECT_EQ(top.Wait(), 0);
  EXPECT_TRUE(top.IsCooked());
}

TEST_F(TopTest, ASignalLeavesTheTerminalAsItWas) {
  OnTerminal top(Command({"--interval=3600"}), {24, 80, 0, 0});
  EXPECT_TRUE(top.Shows("SESSION"));
  top.Signal(SIGTERM);
  EXPECT_TRUE(top.Shows(kLeave));
  top.Wait();
  EXPECT_TRUE(top.IsCooked());
}

TEST_F(TopTest, AKeyChoosesTheColumnThatSessionsAreSortedBy) {
  OnTerminal top(Command({"--interval=3600"}), {24, 120, 0, 0});
  EXPECT_TRUE(top.Shows("\x1b[7m    DEVICE\x1b[0m"));
  EXPECT_TRUE(top.Shows("q leaves   sort by   m memory"));
  top.Type('f');
  EXPECT_TRUE(top.Shows("\x1b[7mFAULTS\x1b[0m"));
  top.Type('z');
  EXPECT_TRUE(top.Shows("\x1b[7mFAULTS\x1b[0m"));
  top.Type('q');
  EXPECT_EQ(top.Wait(), 0);
}

TEST_F(TopTest, NoColorsAreShownWhereTheyAreNotWanted) {
  setenv("NO_COLOR", "1", 1);
  OnTerminal top(Command({"--interval=3600", "--sort=gpu"}), {24, 120, 0, 0});
  unsetenv("NO_COLOR");
  EXPECT_TRUE(top.Shows("\r\nSESSION STATE"));
  top.Type('q');
  EXPECT_EQ(top.Wait(), 0);
}

TEST_F(TopTest, PrintsPlainTextElsewhere) {
  const Outcome once = RunProgram(Command({"--once", "--interval=0.1"}));
  EXPECT_EQ(once.exit_code, 0) << once.err;
  EXPECT_FALSE(absl::StrContains(once.out, "\x1b"));
  EXPECT_TRUE(absl::StrContains(once.out, "SESSION")) << once.out;
  // The second view has rates.
  EXPECT_TRUE(absl::StrContains(once.out, "copies 0 bytes/s")) << once.out;
}

TEST_F(TopTest, PrintsJsonAgainAndAgain) {
  Process top(Command({"--json", "--interval=0.1"}));
  for (int i = 0; i < 3; ++i) {
    const std::string line = top.ReadLine();
    EXPECT_TRUE(absl::StartsWith(line, "{\"address\":")) << line;
    EXPECT_TRUE(absl::EndsWith(line, "}")) << line;
  }
  top.Signal(SIGTERM);
}

TEST_F(TopTest, SaysThatThereIsNoDaemonBeforeItTakesTheScreen) {
  OnTerminal top({ProgramPath("HOLDFAST_CLI"), "--address",
                  "unix:/tmp/holdfast-nowhere/holdfast.sock", "top"},
                 {24, 80, 0, 0});
  EXPECT_EQ(top.Wait(), 3);
}

}  // namespace
}  // namespace holdfast::e2e
