// SPDX-License-Identifier: Apache-2.0
//
// Copies of functions are counted, not made: trees of calls have more of them
// than memory could hold.
#include "core/software/analysis/repeated_calls.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/software/ptx/parser.h"
#include "gtest/gtest.h"

namespace holdfast::software::analysis {
namespace {

// Functions f0 to f<count - 1>, each of which adds `adds` times and calls the
// one before it `calls` times; and a kernel that calls the last one.
ptx::Module Chain(int count, int calls, int adds) {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, ".func f", i, "() {\n.reg .b32 %r<2>;\n");
    for (int k = 0; k < adds; ++k) {
      absl::StrAppend(&text, "add.s32 %r0, %r0, %r1;\n");
    }
    for (int k = 0; i > 0 && k < calls; ++k) {
      absl::StrAppend(&text, "call f", i - 1, ";\n");
    }
    absl::StrAppend(&text, "ret;\n}\n");
  }
  absl::StrAppend(&text, ".entry k() {\ncall f", count - 1, ";\nret;\n}\n");
  ptx::ParseResult parsed = ptx::Parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return std::move(parsed.module);
}

std::vector<bool> Repeated(const ptx::Module& module,
                           const InliningLimits& limits = {}) {
  const std::vector<bool> none(module.functions.size(), false);
  return RepeatedFunctions(module, module.functions.back(), none, limits);
}

int CountOf(const std::vector<bool>& functions) {
  return static_cast<int>(std::count(functions.begin(), functions.end(), true));
}

TEST(RepeatedCallsTest, SmallTreesAreCopied) {
  EXPECT_EQ(CountOf(Repeated(Chain(9, 2, 10))), 0);
}

TEST(RepeatedCallsTest, LargeFunctionsThatAreCalledOnceAreCopied) {
  EXPECT_EQ(CountOf(Repeated(Chain(10, 1, 10000))), 0);
}

TEST(RepeatedCallsTest, OneFunctionInTheMiddleHalvesTheDepthOfATree) {
  const std::vector<bool> repeated = Repeated(Chain(14, 2, 10));
  ASSERT_EQ(CountOf(repeated), 1);
  const auto at = std::find(repeated.begin(), repeated.end(), true);
  EXPECT_GE(at - repeated.begin(), 3);
  EXPECT_LE(at - repeated.begin(), 11);
}

TEST(RepeatedCallsTest, NoNumberOfCopiesIsTooLarge) {
  const int few = CountOf(Repeated(Chain(100, 2, 10)));
  EXPECT_GE(few, 5);
  EXPECT_LE(few, 50);
  // 40^199 is beyond a double.
  const int most = CountOf(Repeated(Chain(199, 40, 10)));
  EXPECT_GE(most, 50);
  EXPECT_LE(most, 198);
}

// 40 functions, each of which is a fortieth of the whole.
TEST(RepeatedCallsTest, ManyFunctionsAreOutlinedThoughEachSavesLittle) {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (int f = 0; f < 40; ++f) {
    absl::StrAppend(&text, ".func f", f, "() {\n");
    for (int i = 0; i < 100; ++i) absl::StrAppend(&text, "bar.sync 0;\n");
    absl::StrAppend(&text, "ret;\n}\n");
  }
  absl::StrAppend(&text, ".entry k() {\n");
  for (int i = 0; i < 50 * 40; ++i) {
    absl::StrAppend(&text, "call f", i % 40, ";\n");
  }
  absl::StrAppend(&text, "ret;\n}\n");
  ptx::ParseResult parsed = ptx::Parse(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_GE(CountOf(Repeated(parsed.module)), 10);
}

// A kernel that is large by itself loses no time for a small function.
TEST(RepeatedCallsTest, AFunctionThatSavesLittleIsCopied) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.func f() {\n";
  for (int i = 0; i < 50; ++i) absl::StrAppend(&text, "bar.sync 0;\n");
  absl::StrAppend(&text, "ret;\n}\n.entry k() {\n");
  for (int i = 0; i < 20000; ++i) absl::StrAppend(&text, "bar.sync 0;\n");
  for (int i = 0; i < 20; ++i) absl::StrAppend(&text, "call f;\n");
  absl::StrAppend(&text, "ret;\n}\n");
  const ptx::ParseResult parsed = ptx::Parse(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(CountOf(Repeated(parsed.module)), 0);
}

TEST(RepeatedCallsTest, LocalVariablesCount) {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  absl::StrAppend(&text, ".func f() {\n.local .b8 own[4096];\n");
  absl::StrAppend(&text, "bar.sync 0;\nret;\n}\n.entry k() {\n");
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, "call f;\n");
  absl::StrAppend(&text, "ret;\n}\n");
  const ptx::ParseResult parsed = ptx::Parse(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(CountOf(Repeated(parsed.module)), 1);
}

TEST(RepeatedCallsTest, LongChainsAreCut) {
  const std::vector<bool> repeated =
      Repeated(Chain(1000, 1, 1), {.size = 1e9, .depth = 200});
  EXPECT_EQ(CountOf(repeated), 5);
}

TEST(RepeatedCallsTest, WhatIsOutlinedAnywayIsNotAdded) {
  const ptx::Module module = Chain(14, 2, 10);
  std::vector<bool> outlined(module.functions.size(), false);
  outlined[7] = true;
  EXPECT_EQ(
      CountOf(RepeatedFunctions(module, module.functions.back(), outlined)), 0);
}

}  // namespace
}  // namespace holdfast::software::analysis
