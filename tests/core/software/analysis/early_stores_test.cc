// SPDX-License-Identifier: Apache-2.0
#include "core/software/analysis/early_stores.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/software/ptx/parser.h"
#include "core/software/transform/lower_kernel.h"
#include "gtest/gtest.h"

namespace holdfast::software::analysis {
namespace {

// The number of early stores of a kernel with this body.
int CountIn(const std::string& body) {
  const ptx::ParseResult parsed = ptx::Parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".entry k() {\n.reg .b32 %r<9>;\n.reg .pred %p<4>;\n"
      ".shared .align 4 .b8 part[128];\nmov.u32 %r1, %tid.x;\n"
      "mov.u32 %r2, part;\n" +
      body + "ret;\n}\n");
  EXPECT_TRUE(parsed.ok());
  if (!parsed.ok()) return -1;
  const std::vector<bool> early = EarlyStores(
      lower::LowerKernel(parsed.module, parsed.module.functions.front(), {}));
  return static_cast<int>(std::count(early.begin(), early.end(), true));
}

constexpr char kPlaceOfThread[] =
    "shl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\n";
constexpr char kPlaceOfLane[] =
    "and.b32 %r3, %r1, 31;\nshl.b32 %r3, %r3, 2;\n"
    "add.u32 %r4, %r2, %r3;\n";
constexpr char kBarrier[] = "bar.sync 0;\n";
constexpr char kLoad[] = "ld.shared.u32 %r5, [%r4];\n";
constexpr char kStore[] = "st.shared.u32 [%r4], %r5;\n";

TEST(EarlyStoresTest, AStoreBehindALoadOfAllWarpsIsEarly) {
  EXPECT_EQ(CountIn(std::string(kPlaceOfLane) + kBarrier + kLoad + kStore), 1);
  EXPECT_EQ(CountIn(std::string(kPlaceOfThread) + kBarrier +
                    "ld.shared.u32 %r5, [part];\n" + kStore),
            1);
  EXPECT_EQ(CountIn(std::string(kPlaceOfLane) + kBarrier + kLoad +
                    "atom.shared.add.u32 %r6, [%r4], 1;\n"
                    "red.shared.add.u32 [%r4], 1;\n"),
            2);
}

TEST(EarlyStoresTest, ALoadThatOneWarpMakesCounts) {
  EXPECT_EQ(CountIn(std::string(kPlaceOfLane) + kBarrier +
                    "setp.gt.u32 %p1, %r1, 31;\n@%p1 bra next;\n" + kLoad +
                    "next:\n" + kStore),
            1);
  EXPECT_EQ(CountIn(std::string(kPlaceOfLane) + kBarrier +
                    "setp.lt.u32 %p1, %r1, 32;\n@%p1 " + kLoad + kStore),
            1);
}

TEST(EarlyStoresTest, AStoreBehindABarrierIsNot) {
  EXPECT_EQ(
      CountIn(std::string(kPlaceOfLane) + kBarrier + kLoad + kBarrier + kStore),
      0);
}

TEST(EarlyStoresTest, AStoreInALoopIsBehindTheLoadOfTheRoundBefore) {
  const std::string again =
      "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 9;\n@%p1 bra again;\n";
  EXPECT_EQ(CountIn(std::string(kPlaceOfLane) + "again:\n" + kStore + kBarrier +
                    kLoad + again),
            1);
  EXPECT_EQ(CountIn(std::string(kPlaceOfLane) + "again:\n" + kStore + kBarrier +
                    kLoad + kBarrier + again),
            0);
}

// A client may send any text. If each move or branch of this one took a pass
// over the whole text, the analysis would take minutes.
TEST(EarlyStoresTest, ALongChainAgainstTheOrderOfTheTextTakesNoLonger) {
  constexpr int kLinks = 50000;
  std::string moves = absl::StrCat(".reg .b32 %x<", kLinks + 1, ">;\n");
  std::string branches = absl::StrCat(kLoad, "bra l", kLinks - 1, ";\nl0:\n");
  for (int i = 0; i < kLinks; ++i) {
    absl::StrAppend(&moves, "mov.u32 %x", i, ", %x", i + 1, ";\n");
  }
  for (int i = 1; i < kLinks; ++i) {
    absl::StrAppend(&branches, i == 1 ? kStore : "", "bra out;\nl", i,
                    ":\nbra l", i - 1, ";\n");
  }
  absl::StrAppend(&moves, "mov.u32 %x", kLinks, ", %tid.y;\n",
                  "mov.u32 %r4, %x0;\n", kBarrier, kLoad, kStore);
  EXPECT_EQ(CountIn(moves), 0);
  EXPECT_EQ(CountIn(absl::StrCat(kPlaceOfLane, kBarrier, branches, "out:\n")),
            1);
}

// As a sum by halves: each thread loads from its own place.
TEST(EarlyStoresTest, LoadsFromPlacesOfAWarpsOwnDoNotCount) {
  EXPECT_EQ(CountIn(std::string(kPlaceOfThread) + kBarrier + kLoad + kStore),
            0);
  EXPECT_EQ(CountIn("shr.u32 %r1, %r1, 5;\nand.b32 %r1, %r1, 31;\n" +
                    std::string(kPlaceOfThread) + kBarrier + kLoad + kStore),
            0);
}

}  // namespace
}  // namespace holdfast::software::analysis
