// SPDX-License-Identifier: Apache-2.0
//
// Masked code is made ahead for kernels that need it in almost every warp, and
// not for those that only stop at the end of their data.
#include "core/software/analysis/likely_divergence.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/software/ptx/parser.h"
#include "core/software/transform/lower_kernel.h"
#include "gtest/gtest.h"

namespace holdfast::software::analysis {
namespace {

using lower::Kernel;
using lower::LowerKernel;

constexpr int kChunkLanes = 8;

// The body of a kernel that counts %r1 from the thread's number in steps of 8.
bool PartsIn(const std::string& loop) {
  const std::string text =
      absl::StrCat(R"(.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 data, .param .u32 count) {
.reg .b32 %r<8>;
.reg .pred %p<4>;
.reg .f32 %f<2>;
.reg .b64 %d<4>;
ld.param.u64 %d0, [data];
ld.param.u32 %r0, [count];
mov.u32 %r1, %tid.x;
mov.u32 %r2, 0;
again:
add.s32 %r1, %r1, 8;
)",
                   loop, "\nst.global.u32 [%d0], %r2;\nret;\n}\n");
  const ptx::ParseResult parsed = ptx::Parse(text);
  EXPECT_TRUE(parsed.ok()) << loop;
  if (!parsed.ok()) return false;
  const Kernel kernel =
      LowerKernel(parsed.module, parsed.module.functions.front(), {});
  const BlockShape block{64, 1, 1};
  return LikelyDivergent(
      kernel, AnalyzeDivergence(kernel, block, Mode::kFull, kChunkLanes));
}

TEST(LikelyDivergenceTest, TheEndOfTheDataIsMetByFewWarps) {
  EXPECT_FALSE(PartsIn("setp.lt.s32 %p0, %r1, %r0; @%p0 bra again;"));
  EXPECT_FALSE(PartsIn(R"(
div.u32 %r3, %r0, %r1; setp.ne.s32 %p0, %r3, 0; @%p0 bra again;)"));
}

TEST(LikelyDivergenceTest, WhatLanesLoadOrComputePartsThem) {
  EXPECT_TRUE(PartsIn(R"(
mul.wide.s32 %d1, %r1, 4; add.s64 %d2, %d0, %d1; ld.global.u32 %r3, [%d2];
setp.lt.s32 %p0, %r3, %r0; @%p0 bra again;)"));
  EXPECT_TRUE(PartsIn(R"(
cvt.rn.f32.s32 %f0, %r1; mul.f32 %f0, %f0, %f0; setp.lt.f32 %p0, %f0, 0f41100000;
setp.lt.s32 %p1, %r1, %r0; and.pred %p2, %p0, %p1; @%p2 bra again;)"));
}

TEST(LikelyDivergenceTest, SomeWarpHasTheThreadThatANumberNames) {
  EXPECT_TRUE(PartsIn("setp.ne.s32 %p0, %r1, 64; @%p0 bra again;"));
  EXPECT_TRUE(PartsIn(R"(
mov.u32 %r3, %tid.x; setp.gt.u32 %p0, %r3, 0;
setp.lt.s32 %p1, %r1, %r0; and.pred %p2, %p0, %p1; @%p2 bra again;)"));
}

TEST(LikelyDivergenceTest, AnIfWithoutALoopRunsBothSides) {
  EXPECT_FALSE(PartsIn(R"(
ld.global.u32 %r3, [%d0]; mad.lo.s32 %r3, %r3, %r1, %r1;
setp.lt.s32 %p0, %r3, %r0; @%p0 bra on; add.s32 %r2, %r2, 1;
on:)"));
}

}  // namespace
}  // namespace holdfast::software::analysis
