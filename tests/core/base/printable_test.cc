// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(PrintableTest, TextOfAnyLanguageStays) {
  for (const char* text : {"", "plain", "Gr\u00fc\u00dfe", "\u6570\u636e",
                           "\u00a0", "\u2026", "\U0001F680", "a\\b"}) {
    EXPECT_EQ(ToPrintable(text), text);
  }
}

TEST(PrintableTest, ControlsAreEscaped) {
  EXPECT_EQ(ToPrintable("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(ToPrintable("\x1b[2J\x07\x7f"), "\\x1b[2J\\x07\\x7f");
  EXPECT_EQ(ToPrintable(absl::string_view("\0", 1)), "\\x00");
  // CSI of Latin-1, a reversal of the direction of writing, a line separator.
  EXPECT_EQ(ToPrintable("\u009b"), "\\xc2\\x9b");
  EXPECT_EQ(ToPrintable("\u202e"), "\\xe2\\x80\\xae");
  EXPECT_EQ(ToPrintable("\u2028"), "\\xe2\\x80\\xa8");
  EXPECT_EQ(ToPrintable("\u2066"), "\\xe2\\x81\\xa6");
}

TEST(PrintableTest, BytesThatAreNotUtf8AreEscaped) {
  EXPECT_EQ(ToPrintable("\x9b"
                        "2J"),
            "\\x9b2J");
  EXPECT_EQ(ToPrintable("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(ToPrintable("\xff"
                        "a"),
            "\\xffa");
}

}  // namespace
}  // namespace holdfast
