// SPDX-License-Identifier: Apache-2.0
#include "core/base/utf8.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

constexpr char kBad[] = "\xEF\xBF\xBD";

TEST(Utf8Test, WellFormedTextIsUnchanged) {
  for (const char* text : {"", "plain", "\xC3\xA4", "\xE2\x82\xAC",
                           "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(ToValidUtf8(text), text);
    EXPECT_TRUE(IsValidUtf8(text));
  }
}

TEST(Utf8Test, EachBadByteIsReplaced) {
  EXPECT_EQ(ToValidUtf8("a\xFF"
                        "b"),
            std::string("a") + kBad + "b");
  EXPECT_EQ(ToValidUtf8("\x80"), kBad);
  EXPECT_EQ(ToValidUtf8("\xC3("), std::string(kBad) + "(");
}

TEST(Utf8Test, TruncatedOverlongAndSurrogateFormsAreBad) {
  const std::string two = std::string(kBad) + kBad;
  EXPECT_EQ(ToValidUtf8("\xE2\x82"), two);
  EXPECT_EQ(ToValidUtf8("\xC0\x80"), two);
  EXPECT_EQ(ToValidUtf8("\xE0\x80\x80"), two + kBad);
  EXPECT_EQ(ToValidUtf8("\xED\xA0\x80"), two + kBad);
  EXPECT_EQ(ToValidUtf8("\xF4\x90\x80\x80"), two + two);
}

TEST(Utf8Test, TellsBadFromWellFormed) {
  for (const char* text : {"a\xFF", "\x80", "\xE2\x82", "\xC0\x80"}) {
    EXPECT_FALSE(IsValidUtf8(text));
  }
}

}  // namespace
}  // namespace holdfast
