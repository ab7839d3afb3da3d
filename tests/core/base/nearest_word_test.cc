// SPDX-License-Identifier: Apache-2.0
#include "core/base/nearest_word.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(NearestWordTest, FewestChangesWin) {
  EXPECT_EQ(NearestWord("lisen", {"list-sessions", "listen", "lines"}),
            "listen");
  EXPECT_EQ(NearestWord("devcies", {"devices", "drain"}), "devices");
  EXPECT_EQ(NearestWord("listen", {"list-sessions", "listen"}), "listen");
}

TEST(NearestWordTest, AWordThatIsFarFromAllHasNone) {
  EXPECT_EQ(NearestWord("frobnicate", {"listen", "devices"}), "");
  EXPECT_EQ(NearestWord("", {"listen"}), "");
  EXPECT_EQ(NearestWord("listen", {}), "");
  // The dashes are the same in all options.
  EXPECT_EQ(NearestWord("--abc", {"--xyz"}), "");
}

TEST(NearestWordTest, SaysItAtTheEndOfAMessage) {
  EXPECT_EQ(DidYouMean("lisen", {"listen"}), "; did you mean listen?");
  EXPECT_EQ(DidYouMean("frobnicate", {"listen"}), "");
}

}  // namespace
}  // namespace holdfast
