// SPDX-License-Identifier: Apache-2.0
#include "client/cli/progress_line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "core/base/unique_fd.h"

namespace holdfast::cli {
namespace {

v1::CompileProgress Queued(uint32_t position, uint32_t length) {
  v1::CompileProgress progress;
  progress.set_stage(v1::CompileProgress::STAGE_QUEUED);
  progress.set_queue_position(position);
  progress.set_queue_length(length);
  return progress;
}

v1::CompileProgress Running() {
  v1::CompileProgress progress;
  progress.set_stage(v1::CompileProgress::STAGE_RUNNING);
  return progress;
}

std::string ReadAll(int fd) {
  fcntl(fd, F_SETFL, O_NONBLOCK);
  std::string text(4096, '\0');
  const ssize_t n = read(fd, text.data(), text.size());
  text.resize(n < 0 ? 0 : static_cast<size_t>(n));
  return text;
}

class ProgressLineTest : public testing::Test {
 protected:
  void SetUp() override {
    terminal_.Reset(posix_openpt(O_RDWR | O_NOCTTY));
    if (!terminal_.valid() || unlockpt(terminal_.get()) != 0) {
      GTEST_SKIP() << "no terminals here";
    }
    program_.Reset(open(ptsname(terminal_.get()), O_RDWR | O_NOCTTY));
    ASSERT_TRUE(program_.valid());
  }

  UniqueFd terminal_;
  UniqueFd program_;  // its end
};

TEST_F(ProgressLineTest, SaysWhatItWaitsForAndIsGoneInTheEnd) {
  {
    ProgressLine line(program_.get(), "linking", absl::ZeroDuration());
    line.Show(Queued(3, 7));
    EXPECT_EQ(ReadAll(terminal_.get()),
              "\r\x1b[Kwaiting for a compiler, 3 of 7 in the queue, 0 s");
    line.Show(Running());
    EXPECT_EQ(ReadAll(terminal_.get()), "\r\x1b[Klinking, 0 s");
  }
  EXPECT_EQ(ReadAll(terminal_.get()), "\r\x1b[K");
}

TEST_F(ProgressLineTest, WhatIsQuickShowsNothing) {
  {
    ProgressLine line(program_.get(), "linking", absl::InfiniteDuration());
    line.Show(Running());
  }
  EXPECT_EQ(ReadAll(terminal_.get()), "");
}

TEST(ProgressLinePipeTest, NothingIsWrittenToWhatIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  {
    ProgressLine line(writer.get(), "linking", absl::ZeroDuration());
    line.Show(Queued(1, 1));
  }
  EXPECT_EQ(ReadAll(reader.get()), "");
}

}  // namespace
}  // namespace holdfast::cli
