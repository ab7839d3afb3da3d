// SPDX-License-Identifier: Apache-2.0
#include "server/compile/ptx_version.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace holdfast {
namespace {

std::string Warning(absl::string_view head, int driver_version) {
  return PtxVersionWarning(PtxVersionOf(head), driver_version);
}

TEST(PtxVersionTest, OnlyPtxNewerThanTheDriverIsWarnedOf) {
  EXPECT_EQ(Warning("//\n.version 9.0\n.target sm_90", 13000), "");
  EXPECT_EQ(Warning(".version 8.4\n", 12040), "");
  EXPECT_EQ(Warning(".version 8.5\n", 12060), "");
  const std::string warning =
      Warning("// x\n.version 9.0\n.target sm_90", 12040);
  for (const char* part : {"9.0", "CUDA 12.4", "8.4"}) {
    EXPECT_TRUE(absl::StrContains(warning, part)) << warning;
  }
}

TEST(PtxVersionTest, NothingIsSaidOfWhatIsNotKnown) {
  EXPECT_EQ(Warning(".version 9.0\n", 0), "");
  EXPECT_EQ(Warning(".version 99.0\n", 15000), "");
  EXPECT_EQ(Warning("", 12040), "");
  EXPECT_EQ(Warning(".version\n", 12040), "");
  EXPECT_EQ(Warning(".version nine.zero\n", 12040), "");
  EXPECT_EQ(Warning(".version 9", 12040), "");
}

}  // namespace
}  // namespace holdfast
