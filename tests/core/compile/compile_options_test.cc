// SPDX-License-Identifier: Apache-2.0
#include "core/compile/compile_options.h"

#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace holdfast::compile {
namespace {

using holdfast::testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status Check(const std::vector<std::string>& options) {
  return ParseOptions(options).status();
}

TEST(CompileOptionsTest, CommonOptionsPass) {
  EXPECT_OK(Check({}));
  EXPECT_OK(Check({"--std=c++17",
                   "--fmad=false",
                   "-DN=4",
                   "-D",
                   "M=5",
                   "--define-macro=K",
                   "-UX",
                   "-use_fast_math",
                   "-lineinfo",
                   "-G",
                   "--maxrregcount=32",
                   "-maxrregcount",
                   "32",
                   "-w",
                   "--diag-suppress=177,550",
                   "-rdc=true",
                   "--device-stack-protector=true",
                   "--extra-device-vectorization",
                   "-Xptxas",
                   "-v,-O3",
                   "--ptxas-options=-dlcm=cg"}));
}

TEST(CompileOptionsTest, AllThreadsAreAsManyAsMayBe) {
  for (const Backend backend : {Backend::kNvrtc, Backend::kNvJitLink}) {
    const auto options = ParseOptions({"--split-compile=0"});
    ASSERT_OK(options.status());
    const auto words =
        RenderOptions(*options, backend, ObjectFormat::kCubin, /*lto=*/false);
    ASSERT_OK(words.status());
    ASSERT_EQ(words->size(), 1U);
    EXPECT_EQ(words->front().substr(words->front().find('=')), "=16");
  }
}

TEST(CompileOptionsTest, WhateverNamesAFileIsRefused) {
  for (const char* option :
       {"-I/etc", "-I", "-I=/etc", "--include-path=/etc", "-include=/etc/x",
        "--pre-include=/etc/passwd", "-include", "--pch", "-pch", "--pch-dir=/",
        "--create-pch=/tmp/x", "--use-pch=/tmp/x", "--time=/tmp/x", "-time=/x",
        "--fdevice-time-trace=/tmp/x", "-fdevice-time-trace=/tmp/x"}) {
    EXPECT_THAT(Check({option}), StatusIs(kInvalid, option));
    EXPECT_THAT(Check({option}), StatusIs(kInvalid, "file"));
  }
}

TEST(CompileOptionsTest, UnknownOptionsAreRefusedByName) {
  for (const char* option :
       {"--no-such-option", "-o", "file.cu", "", "-", "--", "--stdX", "--std",
        "@/etc/passwd", "--options-file=/etc/passwd", "-optf=/x"}) {
    EXPECT_THAT(Check({option}), StatusIs(kInvalid, option));
  }
}

TEST(CompileOptionsTest, TheArchitectureHasItsOwnField) {
  EXPECT_THAT(Check({"--gpu-architecture=sm_90"}),
              StatusIs(kInvalid, "architecture"));
  EXPECT_THAT(Check({"-arch=sm_90"}), StatusIs(kInvalid, "architecture"));
}

TEST(CompileOptionsTest, AFileNameCannotHideAsAValue) {
  // The next word of a flag is an option again, not its value.
  EXPECT_FALSE(Check({"-G", "/etc/passwd"}).ok());
  EXPECT_FALSE(Check({"-lineinfo=/etc/passwd"}).ok());
  // The value of one option does not excuse the one after it.
  EXPECT_FALSE(Check({"-D", "N=4", "-I/etc"}).ok());
  EXPECT_FALSE(Check({"-Xptxas", "--input-as-string=x"}).ok());
  EXPECT_FALSE(Check({"-Xptxas=-v,-o,/tmp/x"}).ok());
  EXPECT_FALSE(Check({"-Xptxas", "-v --options-file /etc/passwd"}).ok());
}

TEST(CompileOptionsTest, SizesAreLimited) {
  EXPECT_THAT(Check(std::vector<std::string>(257, "-w")),
              StatusIs(kInvalid, "the limit is 256"));
  EXPECT_THAT(Check({"-D" + std::string(5000, 'x')}),
              StatusIs(kInvalid, "the limit is 4096"));
  EXPECT_THAT(Check({std::string("-DA\0-I/etc", 10)}),
              StatusIs(kInvalid, "zero byte"));
}

TEST(ArchitectureNameTest, EverySpellingGivesWhatTheTargetNeeds) {
  for (const char* arch : {"90", "sm_90", "compute_90"}) {
    EXPECT_EQ(*ArchitectureName(arch, ObjectFormat::kCubin), "sm_90");
    EXPECT_EQ(*ArchitectureName(arch, ObjectFormat::kPtx), "compute_90");
    EXPECT_EQ(*ArchitectureName(arch, ObjectFormat::kLtoir), "compute_90");
  }
  EXPECT_EQ(*ArchitectureName("90a", ObjectFormat::kCubin), "sm_90a");
  EXPECT_EQ(*ArchitectureName("sm_120f", ObjectFormat::kPtx), "compute_120f");
}

TEST(ArchitectureNameTest, AnythingElseIsRefused) {
  for (const char* arch : {"", "sm_", "9", "sm_90 -I/etc", "hopper", "90aa",
                           "sm_sm_90", "1234", "sm_90,sm_80"}) {
    EXPECT_THAT(ArchitectureName(arch, ObjectFormat::kPtx),
                StatusIs(kInvalid, arch));
  }
}

}  // namespace
}  // namespace holdfast::compile
