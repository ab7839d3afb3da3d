// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/compile/source_lines.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

TEST(SourceLinesTest, ALineIsQuotedWithoutTheSpaceAroundIt) {
  NoteSource("quoted.cu", "one\n\tx[i] = v; \nthree");
  EXPECT_EQ(SourceLineAt("quoted.cu:1", ""), "one");
  EXPECT_EQ(SourceLineAt("quoted.cu:2", ""), "x[i] = v;");
  EXPECT_EQ(SourceLineAt("quoted.cu:3", ""), "three");
}

TEST(SourceLinesTest, NothingIsQuotedOfAPlaceThatIsNotKnown) {
  NoteSource("known.cu", "one");
  for (const char* place : {"known.cu:2", "known.cu:0", "known.cu:-1",
                            "known.cu", "other.cu:1", "PTX:1", ""}) {
    EXPECT_EQ(SourceLineAt(place, ""), "") << place;
  }
}

TEST(SourceLinesTest, NothingIsQuotedWhereSourcesOfOneNameDiffer) {
  NoteSource("edited.cu", "same\nbefore");
  NoteSource("edited.cu", "same\nafter");
  EXPECT_EQ(SourceLineAt("edited.cu:1", ""), "same");
  EXPECT_EQ(SourceLineAt("edited.cu:2", ""), "");
}

TEST(SourceLinesTest, SourcesWithoutTheKernelDoNotCount) {
  NoteSource("default_program", "void put() {}");
  NoteSource("default_program", "void scale() {}");
  EXPECT_EQ(SourceLineAt("default_program:1", "put"), "void put() {}");
  EXPECT_EQ(SourceLineAt("default_program:1", "_Z5scaleIfEvPT_S0_m"),
            "void scale() {}");
  EXPECT_EQ(SourceLineAt("default_program:1", "_ZN1a3putEv"), "");
}

TEST(SourceLinesTest, OnlyTheLastSourcesAreKept) {
  NoteSource("old.cu", "old");
  for (int i = 0; i < 5; ++i) {
    NoteSource("large.cu", absl::StrCat(i, std::string(1 << 20 >> 1, ' ')));
  }
  EXPECT_EQ(SourceLineAt("old.cu:1", ""), "old");
  for (int i = 5; i < 20; ++i) {
    NoteSource("large.cu", absl::StrCat(i, std::string(1 << 20 >> 1, ' ')));
  }
  EXPECT_EQ(SourceLineAt("old.cu:1", ""), "");
  NoteSource("huge.cu", std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(SourceLineAt("huge.cu:1", ""), "");
}

}  // namespace
}  // namespace holdfast
