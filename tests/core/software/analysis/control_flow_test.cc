// SPDX-License-Identifier: Apache-2.0
//
// Which loops a warp goes round by itself, and in which it waits for others.
#include "core/software/analysis/control_flow.h"

#include <string>
#include <vector>

#include "core/software/ptx/parser.h"
#include "core/software/transform/lower_kernel.h"
#include "gtest/gtest.h"

namespace holdfast::software::analysis {
namespace {

using lower::Kernel;
using lower::LowerKernel;

// By block.
struct LoopsOf {
  std::vector<int> all, without_barriers;
};

LoopsOf Find(const std::string& body) {
  const ptx::ParseResult parsed = ptx::Parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".entry k() {\n.reg .b32 %r<4>;\n.reg .pred %p<4>;\n" +
      body + "ret;\n}\n");
  EXPECT_TRUE(parsed.ok());
  if (!parsed.ok()) return {};
  const Kernel kernel =
      LowerKernel(parsed.module, parsed.module.functions.front(), {});
  return {Loops(kernel), Loops(kernel, /*past_barriers=*/false)};
}

int CountIn(const std::vector<int>& loops) {
  int count = 0;
  for (const int loop : loops) count += loop >= 0 ? 1 : 0;
  return count;
}

constexpr char kAgain[] = "add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 9;\n";

TEST(LoopsTest, ALoopWithABarrierIsNoneOfAWarpThatDoesNotWait) {
  const LoopsOf loops =
      Find("outer:\nbar.sync 0;\n" + std::string(kAgain) + "@%p1 bra outer;\n");
  EXPECT_EQ(CountIn(loops.all), 2);  // the barrier is a block of its own
  EXPECT_EQ(CountIn(loops.without_barriers), 0);
}

TEST(LoopsTest, ALoopWithinOneThatHasABarrierIsAWarpsOwn) {
  const LoopsOf loops =
      Find("outer:\nadd.s32 %r2, %r2, 1;\ninner:\n" + std::string(kAgain) +
           "@%p1 bra inner;\nbar.sync 0;\n"
           "setp.lt.s32 %p2, %r2, 9;\n@%p2 bra outer;\n");
  EXPECT_EQ(CountIn(loops.all), 4);
  EXPECT_EQ(CountIn(loops.without_barriers), 1);
}

TEST(LoopsTest, CodeThatRunsOnceIsInNone) {
  const LoopsOf loops = Find(kAgain);
  EXPECT_EQ(CountIn(loops.all), 0);
  EXPECT_EQ(CountIn(loops.without_barriers), 0);
}

}  // namespace
}  // namespace holdfast::software::analysis
