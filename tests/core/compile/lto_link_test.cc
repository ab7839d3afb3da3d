// SPDX-License-Identifier: Apache-2.0
//
// Links with LTO IR, to each target.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/compile/nvjitlink_api.h"
#include "core/compile/nvjitlink_linker.h"
#include "tests/core/compile/toolkit_compiler.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::compile {
namespace {

using holdfast::testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr auto kPtx = ObjectFormat::kPtx;
constexpr auto kCubin = ObjectFormat::kCubin;
constexpr auto kLtoir = ObjectFormat::kLtoir;

constexpr char kCaller[] =
    "extern __device__ int twice(int);"
    "extern __constant__ int offset;"
    "extern \"C\" __global__ void caller(int* p) { *p = twice(*p) + offset; }";
constexpr char kCallee[] =
    "__constant__ int offset = 7;"
    "static __device__ __noinline__ int same(int x) { return x; }"
    "__device__ int twice(int x) { return 2 * same(x); }";
constexpr char kSecond[] =
    "extern __device__ int twice(int);"
    "extern \"C\" __global__ void second(int* p) { *p = twice(*p); }";

// All of them inlined into one another.
void ExpectOneKernelWithoutCalls(const ObjectCode& object) {
  EXPECT_EQ(object.format, kPtx);
  EXPECT_TRUE(absl::StrContains(object.bytes, ".entry caller")) << object.bytes;
  EXPECT_FALSE(absl::StrContains(object.bytes, "_Z5twicei")) << object.bytes;
}

TEST(LtoLinkTest, InlinesAcrossObjects) {
  const auto ptx =
      Link(kLtoir, {Cpp(kCaller, kLtoir), Cpp(kCallee, kLtoir)}, kPtx);
  ASSERT_OK(ptx);
  ExpectOneKernelWithoutCalls(*ptx);
}

TEST(LtoLinkTest, LinkedLtoIrIsOneInputOfTheNextLink) {
  const auto linked =
      Link(kLtoir, {Cpp(kCaller, kLtoir), Cpp(kCallee, kLtoir)}, kLtoir);
  ASSERT_OK(linked);
  EXPECT_EQ(linked->format, kLtoir);
  EXPECT_EQ(linked->arch, "compute_90");
  const auto ptx = Link(kLtoir, {linked->bytes}, kPtx);
  ASSERT_OK(ptx);
  ExpectOneKernelWithoutCalls(*ptx);
  const auto more = Link(kLtoir, {linked->bytes, Cpp(kSecond, kLtoir)}, kLtoir);
  ASSERT_OK(more);
  const auto cubin = Link(kLtoir, {more->bytes}, kCubin);
  ASSERT_OK(cubin);
  EXPECT_TRUE(IsCubin(*cubin, "caller"));
  EXPECT_TRUE(IsCubin(*cubin, "second"));
}

TEST(LtoLinkTest, TheCallThatFailsIsTheOneOfTheTarget) {
  ASSERT_OK_AND_ASSIGN(const auto loaded, LoadNvJitLink({}));
  const std::string piece = Cpp(kCallee, kLtoir);
  const auto link = [&](const NvJitLinkApi& api, ObjectFormat target) {
    LinkSource source;
    source.inputs.push_back({"part", kLtoir, piece});
    source.target = target;
    source.arch = "90";
    return NvJitLinker(api).Link(source, {}).status();
  };
  NvJitLinkApi api = *loaded;
  api.nvJitLinkGetLinkedPtx = [](nvJitLinkHandle, char*) {
    return NVJITLINK_ERROR_INTERNAL;
  };
  EXPECT_THAT(link(api, kPtx), StatusIs(kInvalid, "nvJitLinkGetLinkedPtx:"));
  api.nvJitLinkGetLinkedPtxSize = [](nvJitLinkHandle, size_t*) {
    return NVJITLINK_ERROR_INTERNAL;
  };
  EXPECT_THAT(link(api, kPtx), StatusIs(kInvalid, "nvJitLinkGetLinkedPtxSize"));
  api.nvJitLinkGetLinkedCubinSize = api.nvJitLinkGetLinkedPtxSize;
  EXPECT_THAT(link(api, kCubin),
              StatusIs(kInvalid, "nvJitLinkGetLinkedCubinSize"));
}

TEST(LtoLinkTest, OnePieceOfLtoIrStaysWhatItIs) {
  const std::string piece = Cpp(kCallee, kLtoir);
  const auto linked = Link(kLtoir, {piece}, kLtoir);
  ASSERT_OK(linked);
  EXPECT_EQ(linked->bytes, piece);
}

TEST(LtoLinkTest, EqualPiecesMakeEqualLtoIr) {
  const std::string caller = Cpp(kCaller, kLtoir);
  const std::string callee = Cpp(kCallee, kLtoir);
  const auto first = Link(kLtoir, {caller, callee}, kLtoir);
  const auto again = Link(kLtoir, {caller, callee}, kLtoir, {"-lto"});
  ASSERT_OK(first);
  ASSERT_OK(again);
  EXPECT_EQ(first->bytes, again->bytes);
}

// nvJitLink 13.0 follows the offsets at bytes 16 and 20 out of the input.
TEST(LtoLinkTest, LtoIrWithAWrongHeaderIsRefusedBeforeItCrashesTheLinker) {
  const std::string right = Cpp(kCallee, kLtoir);
  const auto refusal = [](const std::string& bytes) {
    return InChild([&] { return Link(kLtoir, {bytes}, kCubin).status(); });
  };
  EXPECT_OK(refusal(right));
  for (const size_t at : {16, 20}) {
    for (const size_t byte : {1, 2, 3}) {
      std::string wrong = right;
      wrong[at + byte] = '\x7f';
      EXPECT_THAT(refusal(wrong), StatusIs(kInvalid, "truncated LTO IR")) << at;
    }
    std::string before = right;
    before[at] = 0;
    EXPECT_THAT(refusal(before), StatusIs(kInvalid, "truncated LTO IR")) << at;
  }
  for (const std::string& other :
       {std::string("BC\xc0\xde") + std::string(100, '\0'),
        std::string(100, 'x'), right.substr(0, 39), right.substr(1)}) {
    EXPECT_THAT(refusal(other), StatusIs(kInvalid, "is no LTO IR"));
  }
  EXPECT_THAT(refusal(right.substr(0, 42)),
              StatusIs(kInvalid, "truncated LTO IR"));
}

TEST(LtoLinkTest, LtoIrIsCheckedWhenItIsLinkedToLtoIr) {
  const std::string callee = Cpp(kCallee, kLtoir);
  EXPECT_THAT(InChild([&] {
                return Link(kLtoir, {callee, callee}, kLtoir).status();
              }),
              StatusIs(kInvalid, "symbol multiply defined"));
  EXPECT_THAT(InChild([&] {
                return Link(kLtoir, {callee, "garbage"}, kLtoir).status();
              }),
              StatusIs(kInvalid, "part"));
}

TEST(LtoLinkTest, OnlyLtoIrBecomesLtoIrAndNoOptionIsIgnored) {
  EXPECT_THAT(Link({{kLtoir, Cpp(kCaller, kLtoir)}, {kPtx, Cpp(kCallee, kPtx)}},
                   kLtoir),
              StatusIs(kUnimplemented, "\"part\" is PTX"));
  EXPECT_THAT(Link(kPtx, {Cpp(kCallee, kPtx)}, kLtoir),
              StatusIs(kUnimplemented, "LTO IR"));
  EXPECT_THAT(Link(kLtoir, {Cpp(kCallee, kLtoir)}, kLtoir, {"--ftz=true"}),
              StatusIs(kInvalid, "\"--ftz=true\" cannot be honoured"));
  EXPECT_THAT(Link(kLtoir, {Cpp(kCallee, kLtoir)}, ObjectFormat::kFatbin),
              StatusIs(kUnimplemented, "fatbin"));
}

TEST(LtoLinkTest, DamagedArchiveOfLtoIrIsRefused) {
  const auto linked =
      Link(kLtoir, {Cpp(kCaller, kLtoir), Cpp(kCallee, kLtoir)}, kLtoir);
  ASSERT_OK(linked);
  const std::string& archive = linked->bytes;
  const auto refusal = [](const std::string& bytes) {
    return Link(kLtoir, {bytes}, kCubin).status();
  };
  EXPECT_THAT(refusal(archive.substr(0, 8)), StatusIs(kInvalid, "no member"));
  EXPECT_THAT(refusal(archive.substr(0, 50)), StatusIs(kInvalid, "truncated"));
  EXPECT_THAT(refusal(archive.substr(0, 200)), StatusIs(kInvalid, "truncated"));
  EXPECT_THAT(refusal(absl::StrReplaceAll(archive, {{"`\n", "xx"}})),
              StatusIs(kInvalid, "no member"));
  // The first member's size.
  std::string huge = archive;
  huge.replace(8 + 48, 10, "9999999999");
  EXPECT_THAT(refusal(huge), StatusIs(kInvalid, "truncated"));
  huge.replace(8 + 48, 10, "-1        ");
  EXPECT_THAT(refusal(huge), StatusIs(kInvalid, "no member"));
}

TEST(LtoLinkTest, LtoIrCallsWhatPtxDefines) {
  const auto ptx =
      Link({{kLtoir, Cpp(kCaller, kLtoir)}, {kPtx, Cpp(kCallee, kPtx)}}, kPtx);
  ASSERT_OK(ptx);
  EXPECT_EQ(ptx->backend, "nvJitLink and Holdfast");
  EXPECT_FALSE(absl::StrContains(ptx->bytes, ".extern")) << ptx->bytes;
  const auto cubin = Compile(Language::kPtx, ptx->bytes, kCubin);
  ASSERT_OK(cubin);
  EXPECT_TRUE(IsCubin(*cubin, "caller"));
}

// Functions that only PTX calls: optimizing the LTO IR alone would drop them.
TEST(LtoLinkTest, PtxCallsWhatLtoIrDefines) {
  const auto ptx =
      Link({{kPtx, Cpp(kCaller, kPtx)},
            {kLtoir, Cpp(kCallee, kLtoir)},
            {kLtoir,
             Cpp(absl::StrReplaceAll(kSecond, {{"second", "third"}}), kLtoir)},
            {kPtx, Cpp(kSecond, kPtx)}},
           kPtx, {"--ftz=true"});
  ASSERT_OK(ptx);
  EXPECT_FALSE(absl::StrContains(ptx->bytes, ".extern")) << ptx->bytes;
  const auto cubin = Compile(Language::kPtx, ptx->bytes, kCubin);
  ASSERT_OK(cubin);
  for (const char* kernel : {"caller", "second", "third"}) {
    EXPECT_TRUE(IsCubin(*cubin, kernel)) << kernel;
  }
}

TEST(LtoLinkTest, WhatNeitherPtxNorLtoIrDefinesIsNamed) {
  EXPECT_THAT(InChild([&] {
                return Link({{kLtoir, Cpp("__device__ int v;", kLtoir)},
                             {kPtx, Cpp(kCaller, kPtx)}},
                            kPtx)
                    .status();
              }),
              StatusIs(kInvalid, "undefined reference to '_Z5twicei'"));
}

}  // namespace
}  // namespace holdfast::compile
