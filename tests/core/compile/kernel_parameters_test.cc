// SPDX-License-Identifier: Apache-2.0
#include "core/compile/kernel_parameters.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace holdfast::compile {
namespace {

constexpr auto kInt = ParameterKind::kInteger;
constexpr auto kFloat = ParameterKind::kFloat;
constexpr auto kOther = ParameterKind::kOther;

std::string Ptx(const std::string& text) {
  return absl::StrCat(".version 8.0\n.target sm_80\n.address_size 64\n", text);
}

std::vector<ParameterKind> Of(const std::string& parameters) {
  const KernelParameters kernels =
      ParametersInPtx(Ptx(".entry k(" + parameters + ") { ret; }"));
  EXPECT_EQ(kernels.size(), 1u);
  return kernels.empty() ? std::vector<ParameterKind>() : kernels.at("k");
}

TEST(KernelParametersTest, EveryTypeHasItsKind) {
  for (const char* type :
       {"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"}) {
    EXPECT_EQ(Of(absl::StrCat(".param .", type, " p")), std::vector{kInt});
  }
  for (const char* type : {"f16", "f32", "f64"}) {
    EXPECT_EQ(Of(absl::StrCat(".param .", type, " p")), std::vector{kFloat});
  }
  for (const char* type : {"b8", "b16", "b32", "b64", "b128"}) {
    EXPECT_EQ(Of(absl::StrCat(".param .", type, " p")), std::vector{kOther});
  }
  EXPECT_EQ(Of(".param .texref p"), std::vector{kOther});
}

TEST(KernelParametersTest, AttributesAndArraysAreNoTypes) {
  EXPECT_EQ(Of(".param .u64 .ptr .global .align 1 p"), std::vector{kInt});
  EXPECT_EQ(Of(".param .align 8 .f32 p"), std::vector{kFloat});
  EXPECT_EQ(Of(".param .align 4 .b8 p[8]"), std::vector{kOther});
  EXPECT_EQ(Of(".param .f32 p[2]"), std::vector{kOther});
  // Names that look like types.
  EXPECT_EQ(Of(".param .b32 f32"), std::vector{kOther});
  EXPECT_EQ(Of(".param .u32 $f32"), std::vector{kInt});
}

TEST(KernelParametersTest, EachParameterHasItsPlace) {
  EXPECT_EQ(Of(""), std::vector<ParameterKind>());
  EXPECT_EQ(Of(".param .u64 a,\n\t.param .f32 b, /* , */ .param .align 4 .b8 "
               "c[8], // )\n .param .f64 d"),
            (std::vector{kInt, kFloat, kOther, kFloat}));
}

TEST(KernelParametersTest, KernelsAreThoseThatAreDefined) {
  const KernelParameters kernels = ParametersInPtx(
      Ptx(".extern .entry declared(.param .u32 p);\n"
          ".func (.reg .f32 r) helper(.param .f32 p) { ret; }\n"
          ".visible .entry first(.param .u32 p) .maxntid 128, 1, 1 { ret; }\n"
          "// .entry comment(.param .f32 p) {}\n"
          ".weak .entry second(.param .f32 p) { { ret; } }\n"
          ".global .f32 entry;\n"));
  EXPECT_EQ(kernels,
            (KernelParameters{{"first", {kInt}}, {"second", {kFloat}}}));
}

TEST(KernelParametersTest, WhatIsNoPtxHasNone) {
  EXPECT_TRUE(ParametersInPtx("").empty());
  EXPECT_TRUE(ParametersInPtx("\177ELF").empty());
  EXPECT_TRUE(ParametersInPtx(Ptx(".entry k(.param .u32 p")).empty());
  EXPECT_TRUE(ParametersInPtx(Ptx(".entry k(.param .u32 p)) {")).empty());
}

}  // namespace
}  // namespace holdfast::compile
