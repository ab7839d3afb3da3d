// SPDX-License-Identifier: Apache-2.0
#include "server/compile/ptx_version.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace holdfast {
namespace {

TEST(PtxVersionTest, OnlyPtxNewerThanTheDriverIsWarnedOf) {
  EXPECT_EQ(PtxVersionWarning("//\n.version 9.0\n.target sm_90", 13000), "");
  EXPECT_EQ(PtxVersionWarning(".version 8.4\n", 12040), "");
  EXPECT_EQ(PtxVersionWarning(".version 8.5\n", 12060), "");
  const std::string warning =
      PtxVersionWarning("// x\n.version 9.0\n.target sm_90", 12040);
  for (const char* part : {"9.0", "CUDA 12.4", "8.4"}) {
    EXPECT_TRUE(absl::StrContains(warning, part)) << warning;
  }
}

TEST(PtxVersionTest, NothingIsSaidOfWhatIsNotKnown) {
  EXPECT_EQ(PtxVersionWarning(".version 9.0\n", 0), "");
  EXPECT_EQ(PtxVersionWarning(".version 99.0\n", 15000), "");
  EXPECT_EQ(PtxVersionWarning("", 12040), "");
  EXPECT_EQ(PtxVersionWarning(".version\n", 12040), "");
  EXPECT_EQ(PtxVersionWarning(".version nine.zero\n", 12040), "");
  EXPECT_EQ(PtxVersionWarning(".version 9", 12040), "");
}

}  // namespace
}  // namespace holdfast
