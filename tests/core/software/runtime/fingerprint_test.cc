// SPDX-License-Identifier: Apache-2.0
//
// Which kernels keep their code when the text of a module changes.
#include "core/software/runtime/fingerprint.h"

#include <string>
#include <vector>

#include "core/software/ptx/parser.h"
#include "gtest/gtest.h"

namespace holdfast::software {
namespace {

// Functions: a, b and, called by none, c.
std::vector<std::string> Of(const std::string& in_a, const std::string& in_b,
                            const std::string& in_c,
                            const std::string& global = "") {
  const std::string text = R"(.version 8.0
.target sm_80
.address_size 64
)" + global + R"(
.visible .entry a()
{
  .reg .b32 %r<4>;
)" + in_a + R"(
  ret;
}
.visible .entry b()
{
  .reg .b32 %r<4>;
)" + in_b + R"(
  ret;
}
.func c()
{
  .reg .b32 %r<4>;
)" + in_c + R"(
  ret;
}
)";
  ptx::ParseResult parsed = ptx::Parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return Fingerprints(parsed.module, text);
}

constexpr char kOne[] = "  mov.u32 %r1, 1;";
constexpr char kTwo[] = "  mov.u32 %r1, 2;\n  mov.u32 %r2, %r1;";

TEST(FingerprintTest, AKernelKeepsItsOwnWhenAnotherChanges) {
  const auto before = Of(kOne, kOne, kOne), after = Of(kOne, kTwo, kOne);
  EXPECT_EQ(before[0], after[0]);
  EXPECT_NE(before[1], after[1]);
  const auto first = Of(kTwo, kOne, kOne);
  EXPECT_NE(before[0], first[0]);
  EXPECT_EQ(before[1], first[1]);
}

TEST(FingerprintTest, FunctionsAndVariablesCountForAllKernels) {
  const auto before = Of(kOne, kOne, kOne);
  const auto function = Of(kOne, kOne, kTwo);
  const auto variable = Of(kOne, kOne, kOne, ".global .u32 v = 1;");
  for (int kernel = 0; kernel < 2; ++kernel) {
    EXPECT_NE(before[kernel], function[kernel]);
    EXPECT_NE(before[kernel], variable[kernel]);
  }
}

}  // namespace
}  // namespace holdfast::software
