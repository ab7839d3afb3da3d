// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace holdfast {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LogTest : public ::testing::Test {
 protected:
  void TearDown() override { SetLogLevel(LogLevel::kInfo); }
};

TEST_F(LogTest, OneEventIsOneLine) {
  ::testing::internal::CaptureStderr();
  LogWarning("first\nsecond ", 42);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("WARNING holdfast["));
  EXPECT_THAT(text, HasSubstr("first\\nsecond 42\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST_F(LogTest, TerminalControlsOfAClientAreEscapedAndLongTextIsCut) {
  ::testing::internal::CaptureStderr();
  LogInfo("\x1b[2J", std::string(10'000, 'x'));
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("\\x1b[2Jxxx"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr(" more bytes]\n"));
  EXPECT_LT(text.size(), 5000u);
}

TEST_F(LogTest, OneClientCannotFillTheLogAndAnotherIsStillHeard) {
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 10'000; ++i) LogFor("noisy", LogLevel::kInfo, "line ", i);
  LogFor("other", LogLevel::kInfo, "heard");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 1000);
  EXPECT_THAT(text, HasSubstr("heard"));
}

TEST_F(LogTest, LevelDropsWhatIsBelow) {
  SetLogLevel(LogLevel::kWarning);
  ::testing::internal::CaptureStderr();
  LogInfo("quiet");
  LogError("loud");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, Not(HasSubstr("quiet")));
  EXPECT_THAT(text, HasSubstr("loud"));
}

TEST_F(LogTest, LevelsHaveNames) {
  LogLevel level = LogLevel::kInfo;
  EXPECT_TRUE(ParseLogLevel("debug", &level));
  EXPECT_EQ(level, LogLevel::kDebug);
  EXPECT_TRUE(ParseLogLevel("error", &level));
  EXPECT_EQ(level, LogLevel::kError);
  EXPECT_FALSE(ParseLogLevel("loud", &level));
}

}  // namespace
}  // namespace holdfast
