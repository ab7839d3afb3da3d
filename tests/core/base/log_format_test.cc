// SPDX-License-Identifier: Apache-2.0
#include "core/base/log_format.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/base/log.h"
#include "core/base/log_scope.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace holdfast {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LogFormatTest, JsonHasOneObjectALineWhateverAClientSays) {
  SetLogFormat(LogFormat::kJson);
  ::testing::internal::CaptureStderr();
  LogWarning("a \"quoted\\\" word\n\x1b[2J\xff");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, HasSubstr("\"severity\":\"WARNING\""));
  EXPECT_THAT(text, HasSubstr("\"message\":\"a \\\"quoted\\\\\\\" word\\\\n"));
  EXPECT_THAT(text, Not(HasSubstr("\"session\"")));
}

TEST(LogFormatTest, JsonSaysWhatALineIsAbout) {
  SetLogFormat(LogFormat::kJson);
  ::testing::internal::CaptureStderr();
  {
    const LogScope call({.trace_id = "feed", .span_id = "beef"});
    const LogScope session({.session = "s-7", .tenant = "alice"});
    LogInfo("inside");
  }
  LogInfo("outside");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("\"message\":\"inside\",\"session\":\"s-7\","
                              "\"tenant\":\"alice\",\"trace_id\":\"feed\","
                              "\"span_id\":\"beef\"}\n"));
  EXPECT_THAT(text, HasSubstr("\"message\":\"outside\"}\n"));
}

TEST(LogFormatTest, AnInnerTraceHasItsOwnSpan) {
  const LogScope outer({.trace_id = "feed", .span_id = "beef"});
  const LogScope inner({.trace_id = "abba"});
  EXPECT_EQ(LogScope::Current().trace_id, "abba");
  EXPECT_EQ(LogScope::Current().span_id, "");
}

TEST(LogFormatTest, JournalHasPrioritiesAndNoTime) {
  SetLogFormat(LogFormat::kJournal);
  ::testing::internal::CaptureStderr();
  LogInfo("ready");
  LogWarning("odd");
  LogError("broken");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::MatchesRegex("<6>holdfast.[0-9]+. ready\n"
                                      "<4>holdfast.[0-9]+. odd\n"
                                      "<3>holdfast.[0-9]+. broken\n"));
}

TEST(LogFormatTest, StandardErrorIsTheJournalWhereSystemdSaysSo) {
  EXPECT_EQ(DefaultLogFormat(), "text");
  setenv("JOURNAL_STREAM", "1:1", 1);  // inherited, and no longer true
  EXPECT_EQ(DefaultLogFormat(), "text");
  struct stat status = {};
  ASSERT_EQ(fstat(STDERR_FILENO, &status), 0);
  const std::string stream =
      std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  setenv("JOURNAL_STREAM", stream.c_str(), 1);
  EXPECT_EQ(DefaultLogFormat(), "journal");
  unsetenv("JOURNAL_STREAM");
}

TEST(LogFormatTest, FormatsHaveNames) {
  LogFormat format = LogFormat::kText;
  EXPECT_TRUE(ParseLogFormat("json", &format));
  EXPECT_EQ(format, LogFormat::kJson);
  EXPECT_TRUE(ParseLogFormat("text", &format));
  EXPECT_EQ(format, LogFormat::kText);
  EXPECT_TRUE(ParseLogFormat("journal", &format));
  EXPECT_EQ(format, LogFormat::kJournal);
  EXPECT_FALSE(ParseLogFormat("xml", &format));
}

}  // namespace
}  // namespace holdfast
