// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/kernel_limits.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace holdfast::cuda {
namespace {

using Options = std::vector<std::pair<CUjit_option, uint32_t>>;

KernelLimits LimitsOf(const Options& options) {
  KernelLimits limits;
  for (const auto& [option, number] : options) {
    void* value = reinterpret_cast<void*>(uintptr_t{number});
    EXPECT_EQ(limits.Read(option, &value), CUDA_SUCCESS);
  }
  return limits;
}

std::string Kernel(const std::string& directives) {
  return ".visible .entry k()" + directives + "{ret;}";
}

// Returns a kernel with these directives as the options change it.
std::string Limited(const std::string& directives, const Options& options) {
  return LimitsOf(options).Apply(Kernel(directives));
}

// As an H200's driver counts.
TEST(KernelLimitsTest, RegistersAreThoseThatFit) {
  EXPECT_EQ(RegistersThatFit(1, 0), 255u);
  EXPECT_EQ(RegistersThatFit(256, 1), 255u);
  EXPECT_EQ(RegistersThatFit(512, 1), 128u);
  EXPECT_EQ(RegistersThatFit(416, 1), 128u);
  EXPECT_EQ(RegistersThatFit(1024, 0), 64u);
  EXPECT_EQ(RegistersThatFit(1024, 2), 32u);
  EXPECT_EQ(RegistersThatFit(256, 2), 128u);
  EXPECT_EQ(RegistersThatFit(256, 4), 64u);
  EXPECT_EQ(RegistersThatFit(1024, 9), 64u) << "so many blocks never fit";
  EXPECT_EQ(RegistersThatFit(2000, 1), 32u);
  EXPECT_EQ(RegistersThatFit(UINT64_C(1) << 40, UINT32_MAX), 32u);
  EXPECT_EQ(RegistersThatFit(UINT64_C(1) << 63, 64), 32u);
  EXPECT_EQ(RegistersThatFit(UINT64_MAX, UINT64_MAX), 32u);
  EXPECT_EQ(AllowedRegisters(1), 24u);
  EXPECT_EQ(AllowedRegisters(57), 56u);
  EXPECT_EQ(AllowedRegisters(300), 255u);
}

TEST(KernelLimitsTest, OptionsBecomeDirectives) {
  EXPECT_EQ(Limited("", {}), Kernel(""));
  EXPECT_EQ(Limited("", {{CU_JIT_OPTIMIZATION_LEVEL, 4}}), Kernel(""));
  EXPECT_EQ(Limited("", {{CU_JIT_MAX_REGISTERS, 57}}), Kernel(" .maxnreg 56 "));
  EXPECT_EQ(Limited("", {{CU_JIT_THREADS_PER_BLOCK, 1000}}),
            Kernel(" .maxnreg 64 "));
  EXPECT_EQ(Limited("", {{CU_JIT_THREADS_PER_BLOCK, 512},
                         {CU_JIT_MAX_REGISTERS, 32}}),
            Kernel(" .maxnreg 32 "));
  EXPECT_EQ(Limited("", {{CU_JIT_MAX_THREADS_PER_BLOCK, 128}}),
            Kernel(" .maxntid 128 "));
  EXPECT_EQ(Limited("", {{CU_JIT_MIN_CTA_PER_SM, 2},
                         {CU_JIT_MAX_THREADS_PER_BLOCK, 1024}}),
            Kernel(" .maxntid 1024 .minnctapersm 2 "));
  EXPECT_EQ(Limited("", {{CU_JIT_MIN_CTA_PER_SM, 2}}), Kernel(""));
}

TEST(KernelLimitsTest, DirectivesComeFirst) {
  const Options registers = {{CU_JIT_MAX_REGISTERS, 32}};
  for (const char* own : {" .maxnreg 40", " .maxntid 256", " .reqntid 8,8"}) {
    EXPECT_EQ(Limited(own, registers), Kernel(own));
  }
  const Options threads = {{CU_JIT_MAX_THREADS_PER_BLOCK, 128}};
  EXPECT_EQ(Limited(" .maxntid 256", threads), Kernel(" .maxntid 256"));
  EXPECT_EQ(Limited(" .reqntid 256", threads), Kernel(" .reqntid 256"));
  EXPECT_EQ(Limited(" .maxnreg 40", threads),
            Kernel(" .maxnreg 40 .maxntid 128 "));
  const Options blocks = {{CU_JIT_MIN_CTA_PER_SM, 2}};
  EXPECT_EQ(Limited(" .maxntid 256", blocks),
            Kernel(" .maxntid 256 .minnctapersm 2 "));
  EXPECT_EQ(Limited(" .maxntid 256 .minnctapersm 4", blocks),
            Kernel(" .maxntid 256 .minnctapersm 4"));
}

TEST(KernelLimitsTest, OptionsOverrideDirectives) {
  const std::pair<CUjit_option, uint32_t> over = {
      CU_JIT_OVERRIDE_DIRECTIVE_VALUES, 1};
  EXPECT_EQ(Limited(" .maxnreg 40", {over, {CU_JIT_MAX_REGISTERS, 64}}),
            Kernel("             .maxnreg 64 "));
  EXPECT_EQ(Limited("\n.maxntid 64,\n2", {over, {CU_JIT_MAX_REGISTERS, 64}}),
            Kernel("\n.maxntid 64,\n2 .maxnreg 64 "));
  EXPECT_EQ(Limited("\n.maxntid 64,\n2\n",
                    {over, {CU_JIT_MAX_THREADS_PER_BLOCK, 128}}),
            Kernel("\n            \n \n .maxntid 128 "));
  EXPECT_EQ(Limited(" .maxntid 256 .minnctapersm 4",
                    {over, {CU_JIT_MIN_CTA_PER_SM, 2}}),
            Kernel(" .maxntid 256                 .minnctapersm 2 "));
  EXPECT_EQ(Limited(" .reqntid 64", {over, {CU_JIT_MAX_THREADS_PER_BLOCK, 8}}),
            Kernel(" .reqntid 64"))
      << "a launch needs this block";
}

TEST(KernelLimitsTest, OnlyKernelsAreLimited) {
  const std::string text =
      "// .entry no() {\n.func f() {ret;}\n/* .entry {*/ .visible .entry "
      "a(.param .u64 p)\n{ret;}\n.entry declared();\n.pragma \".entry {\";\n"
      ".entry b()\n  // {\n{ { ret; } }";
  const std::string limited =
      "// .entry no() {\n.func f() {ret;}\n/* .entry {*/ .visible .entry "
      "a(.param .u64 p)\n .maxnreg 32 {ret;}\n.entry declared();\n.pragma "
      "\".entry {\";\n.entry b()\n  // {\n .maxnreg 32 { { ret; } }";
  EXPECT_EQ(LimitsOf({{CU_JIT_MAX_REGISTERS, 32}}).Apply(text), limited);
  for (const char* broken : {"", ".entry", ".entry k(", ".entry k() .maxnreg",
                             "/*", "\"", ".entry k() \""}) {
    EXPECT_EQ(LimitsOf({{CU_JIT_MAX_REGISTERS, 32}}).Apply(broken), broken);
  }
}

TEST(KernelLimitsTest, ALimitIsNotZero) {
  KernelLimits limits;
  void* value = nullptr;
  EXPECT_EQ(limits.Read(CU_JIT_MAX_REGISTERS, &value),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(limits.Read(CU_JIT_THREADS_PER_BLOCK, &value),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(KernelLimitsTest, TheOptionSaysForHowManyThreadsCodeIs) {
  for (const auto& [asked, answered] :
       {std::pair{1, 32}, {400, 416}, {512, 512}, {2000, 1024}}) {
    void* value = reinterpret_cast<void*>(intptr_t{asked});
    KernelLimits limits;
    EXPECT_EQ(limits.Read(CU_JIT_THREADS_PER_BLOCK, &value), CUDA_SUCCESS);
    EXPECT_EQ(reinterpret_cast<intptr_t>(value), answered);
  }
}

TEST(KernelLimitsTest, LaterLimitsReplaceEarlierOnes) {
  KernelLimits limits = LimitsOf(
      {{CU_JIT_MAX_REGISTERS, 64}, {CU_JIT_MAX_THREADS_PER_BLOCK, 128}});
  limits.Replace(LimitsOf({{CU_JIT_MAX_REGISTERS, 32}}));
  EXPECT_EQ(limits.Apply(Kernel("")), Kernel(" .maxnreg 32 .maxntid 128 "));
}

}  // namespace
}  // namespace holdfast::cuda
