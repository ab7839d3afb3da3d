// SPDX-License-Identifier: Apache-2.0
#include "server/process/output_relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);
const absl::Time kLater = kStart + OutputRelay::kGather;

class OutputRelayTest : public testing::Test {
 protected:
  // The writing end of a pipe that the relay reads.
  UniqueFd Child(pid_t pid) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    relay_.Add(pid, UniqueFd(ends[0]));
    return UniqueFd(ends[1]);
  }

  static void Write(const UniqueFd& fd, const std::string& text) {
    ASSERT_EQ(write(fd.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }

  // Standard error of one call.
  std::string Relayed(absl::Time now = kStart) {
    testing::internal::CaptureStderr();
    relay_.Relay(now);
    return testing::internal::GetCapturedStderr();
  }

  // A child writes `kib` KiB in lines of 64 bytes, and is read each
  // millisecond. Returns what came through.
  std::string Flood(const UniqueFd& fd, int kib, absl::Time now = kStart) {
    const std::string line(63, 'x');
    std::string text;
    for (int i = 0; i < 16; ++i) absl::StrAppend(&text, line, "\n");
    std::string relayed;
    fcntl(fd.get(), F_SETFL, O_NONBLOCK);
    for (int i = 0; i < kib; ++i) {
      // No room: the child would wait.
      if (write(fd.get(), text.data(), text.size()) < 0) continue;
      relayed += Relayed(now);
    }
    return relayed;
  }

  OutputRelay relay_;
};

TEST_F(OutputRelayTest, PassesWholeLines) {
  const UniqueFd one = Child(1), two = Child(2);
  Write(one, "begun ");
  Write(two, "a line\nand ");
  EXPECT_EQ(Relayed(), "a line\n");
  Write(one, "and ended\n");
  EXPECT_EQ(Relayed(kLater), "begun and ended\n");
}

// A child that writes byte by byte must not wake this process for each.
TEST_F(OutputRelayTest, GathersALineThatComesInBits) {
  const UniqueFd child = Child(1);
  Write(child, "a");
  EXPECT_EQ(Relayed(), "");
  Write(child, "b\n");
  std::vector<pollfd> events;
  EXPECT_GT(relay_.AppendTo(&events, kStart), 0);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(Relayed(), "");
  EXPECT_EQ(Relayed(kLater), "ab\n");
}

TEST_F(OutputRelayTest, PassesTheLastWordsAndForgetsThePipe) {
  UniqueFd child = Child(1);
  Write(child, "no more");
  EXPECT_EQ(Relayed(), "");
  child.Reset();
  EXPECT_EQ(Relayed(kLater), "no more\n");
  std::vector<pollfd> events;
  EXPECT_EQ(relay_.AppendTo(&events, kLater), -1);
  EXPECT_TRUE(events.empty());
}

TEST_F(OutputRelayTest, EscapesWhatATerminalObeys) {
  const UniqueFd child = Child(1);
  Write(child, "\x1b[2Jline\r\n");
  EXPECT_EQ(Relayed(), "\\x1b[2Jline\\r\n");
}

TEST_F(OutputRelayTest, CutsALineThatDoesNotEnd) {
  const UniqueFd child = Child(1);
  Write(child, std::string(OutputRelay::kMaxLine + 5, 'x'));
  EXPECT_EQ(Relayed(), std::string(OutputRelay::kMaxLine, 'x') + "\n");
  Write(child, "y\n");
  EXPECT_EQ(Relayed(kLater), "xxxxxy\n");
}

TEST_F(OutputRelayTest, AChildThatWritesWithoutEndIsBoundedAndWaits) {
  const UniqueFd flood = Child(1), other = Child(2);
  EXPECT_LE(Flood(flood, 2048).size(), OutputRelay::kPerChild.burst);
  std::vector<pollfd> events;
  EXPECT_GE(relay_.AppendTo(&events, kStart), 100);
  ASSERT_EQ(events.size(), 1u);  // The other child's pipe alone is waited for.
  Write(other, "as before\n");
  EXPECT_EQ(Relayed(), "as before\n");
  // A minute later there is room again, and the lines are counted.
  const std::string later = Relayed(kStart + absl::Minutes(1));
  EXPECT_TRUE(absl::StrContains(later, "lines of process 1 were dropped"));
  EXPECT_TRUE(absl::StrContains(later, "\nxxx"));
}

TEST_F(OutputRelayTest, ManyChildrenHaveABoundInSum) {
  std::vector<UniqueFd> children;
  size_t relayed = 0;
  for (int pid = 1; pid <= 20; ++pid) {
    children.push_back(Child(pid));
    relayed += Flood(children.back(), 512).size();
  }
  EXPECT_LE(relayed, OutputRelay::kAll.burst);
  EXPECT_GE(relayed, OutputRelay::kAll.burst / 8);
}

}  // namespace
}  // namespace holdfast
