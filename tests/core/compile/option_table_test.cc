// SPDX-License-Identifier: Apache-2.0
//
// The table of options against README.md, and against the libraries;
// option_effects_test.cc sees what the options do.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/compile/compile_options.h"
#include "core/compile/nvjitlink_api.h"
#include "tests/core/compile/toolkit_compiler.h"
#include "tests/testing/nvvm_kernel.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::compile {
namespace {

using holdfast::testing::NvvmKernel;
using holdfast::testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr Backend kBackends[] = {Backend::kNvrtc, Backend::kNvvm,
                                 Backend::kNvJitLink};

constexpr char kSource[] =
    "__device__ int v; extern \"C\" __global__ void f(float* p, int n) {"
    "  p[0] = p[1] * p[2] + p[3] / sqrtf(p[4]) + n + v; }";

// A value that the option may have.
std::string SampleValue(const OptionSpec& spec) {
  static const auto& values = *new std::map<absl::string_view, std::string>{
      {"--Ofast-compile", "max"}, {"--define-macro", "N=4"},
      {"--diag-error", "177"},    {"--diag-suppress", "177"},
      {"--diag-warn", "177"},     {"--frandom-seed", "7"},
      {"--kernels-used", "f"},    {"--optimization-info", "inline"},
      {"--ptxas-options", "-v"},  {"--std", "c++17"},
      {"--undefine-macro", "N"},  {"--variables-used", "v"}};
  switch (spec.value) {
    case Value::kNone:
      return "";
    case Value::kBool:
      return "true";
    case Value::kOn:
      return "on";
    case Value::kNumber:
      return "50";
    case Value::kThreads:
      return "2";
    case Value::kLevel:
      return "3";
    case Value::kText:
    case Value::kPtxas:
      return values.at(spec.name);
  }
  return "";
}

std::string SampleWord(const OptionSpec& spec) {
  const std::string value = SampleValue(spec);
  return absl::StrCat(spec.name, value.empty() ? "" : "=", value);
}

absl::StatusOr<std::vector<std::string>> Render(
    const std::string& word, Backend backend,
    ObjectFormat target = ObjectFormat::kCubin, bool lto = true) {
  const auto options = ParseOptions({word});
  if (!options.ok()) return options.status();
  return RenderOptions(*options, backend, target, lto);
}

// The rows of README.md that name an option: cuda.core's name, the option, the
// three flags, the test.
std::vector<std::vector<std::string>> ReadmeRows() {
  std::ifstream file("core/compile/README.md");
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() != 8 || !absl::StrContains(cells[2], "`--")) continue;
    std::vector<std::string> row;
    for (size_t i = 1; i < 7; ++i) {
      absl::string_view cell = cells[i];
      while (absl::ConsumePrefix(&cell, " ")) {
      }
      while (absl::ConsumeSuffix(&cell, " ")) {
      }
      row.emplace_back(cell);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string Cell(absl::string_view flag, bool lto_only) {
  if (flag.empty()) return "–";
  return absl::StrCat("`", flag, "`", lto_only ? "*" : "");
}

TEST(OptionTableTest, ReadmeHasEveryOptionAsTheCodeDoes) {
  const auto rows = ReadmeRows();
  const auto table = OptionTable();
  ASSERT_EQ(rows.size(), table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    const OptionSpec& spec = table[i];
    EXPECT_EQ(rows[i][1], absl::StrCat("`", spec.name, "`"));
    EXPECT_EQ(rows[i][2], Cell(spec.nvrtc, false)) << spec.name;
    EXPECT_EQ(rows[i][3], Cell(spec.nvvm, false)) << spec.name;
    EXPECT_EQ(rows[i][4], Cell(spec.nvjitlink, spec.lto_only)) << spec.name;
  }
}

TEST(OptionTableTest, ReadmeNamesTestsThatThereAre) {
  std::set<std::string> tests;
  const auto& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const auto& suite = *all.GetTestSuite(s);
    for (int i = 0; i < suite.total_test_count(); ++i) {
      tests.insert(suite.GetTestInfo(i)->name());
    }
  }
  for (const auto& row : ReadmeRows()) {
    if (row[5] == "no visible effect" || row[5] == "of a newer toolkit") {
      continue;
    }
    EXPECT_EQ(tests.count(row[5]), 1u) << row[1] << " is covered by " << row[5];
  }
}

TEST(OptionTableTest, NamesAndAliasesAreSortedAndMeanOneOption) {
  std::set<std::string> names;
  absl::string_view last;
  for (const OptionSpec& spec : OptionTable()) {
    EXPECT_LT(last, spec.name);
    last = spec.name;
    EXPECT_TRUE(names.insert(std::string(spec.name)).second) << spec.name;
    for (const absl::string_view alias :
         absl::StrSplit(spec.aliases, ' ', absl::SkipEmpty())) {
      EXPECT_TRUE(names.insert(std::string(alias)).second) << alias;
    }
  }
}

TEST(OptionTableTest, RendersForEachBackEnd) {
  for (const OptionSpec& spec : OptionTable()) {
    for (const Backend backend : kBackends) {
      const auto flags =
          Render(SampleWord(spec), backend, ObjectFormat::kLtoir);
      if (spec.flag(backend).empty()) {
        EXPECT_THAT(flags, StatusIs(kInvalid, std::string(spec.name)));
        EXPECT_THAT(flags,
                    StatusIs(kInvalid, std::string(BackendName(backend))));
        continue;
      }
      ASSERT_OK(flags) << spec.name;
      if (spec.name == "--dlink-time-opt") continue;  // See below.
      ASSERT_EQ(flags->size(), 1u) << spec.name;
      EXPECT_TRUE(absl::StartsWith(flags->front(), spec.flag(backend)))
          << flags->front();
    }
  }
}

TEST(OptionTableTest, EachBackEndHasItsOwnWordsForAValue) {
  using Flags = std::vector<std::string>;
  const auto render = [](const char* word, Backend backend) {
    auto flags = Render(word, backend);
    EXPECT_OK(flags);
    return flags.value_or(Flags());
  };
  EXPECT_EQ(render("--fmad=0", Backend::kNvrtc), Flags{"--fmad=false"});
  EXPECT_EQ(render("-fmad=true", Backend::kNvvm), Flags{"-fma=1"});
  EXPECT_EQ(render("-fma=false", Backend::kNvJitLink), Flags{"-fma=0"});
  EXPECT_EQ(render("-O3", Backend::kNvJitLink), Flags{"-O3"});
  EXPECT_EQ(render("-O0", Backend::kNvvm), Flags{"-opt=0"});
  EXPECT_EQ(render("--dopt=off", Backend::kNvvm), Flags{"-opt=0"});
  EXPECT_EQ(render("--dopt=on", Backend::kNvJitLink), Flags{"-O3"});
  EXPECT_EQ(render("-DN=4", Backend::kNvrtc), Flags{"--define-macro=N=4"});
  EXPECT_EQ(render("-Xptxas=-v,-dlcm=cg", Backend::kNvJitLink),
            (Flags{"-Xptxas=-v", "-Xptxas=-dlcm=cg"}));
  EXPECT_THAT(Render("--dopt=off", Backend::kNvrtc), StatusIs(kInvalid, "on"));
}

TEST(OptionTableTest, LinkerNeedsLtoForWhatItWouldIgnore) {
  for (const OptionSpec& spec : OptionTable()) {
    if (!spec.lto_only) continue;
    EXPECT_THAT(Render(SampleWord(spec), Backend::kNvJitLink,
                       ObjectFormat::kCubin, /*lto=*/false),
                StatusIs(kInvalid, "LTO IR"));
  }
}

TEST(OptionTableTest, LinkTimeOptimizationFollowsTheTarget) {
  EXPECT_THAT(Render("-dlto", Backend::kNvrtc, ObjectFormat::kCubin),
              StatusIs(kInvalid, "for the target cubin"));
  // PTX is not LTO IR, but code to be linked: functions stay.
  const auto kept =
      Compile(Language::kCudaCpp, "__device__ int f() { return 4; }",
              ObjectFormat::kPtx, {"-dlto"});
  ASSERT_OK(kept);
  EXPECT_TRUE(absl::StrContains(kept->bytes, "_Z1fv")) << kept->bytes;
  const std::string ir = NvvmKernel("f", "fadd float %v, 1.0", "");
  EXPECT_OK(Compile(Language::kNvvmIr, ir, ObjectFormat::kPtx, {"-dlto"}));
  EXPECT_OK(
      Compile(Language::kCudaCpp, kSource, ObjectFormat::kLtoir, {"-dlto"}));
  const std::string ptx = Cpp(kSource, ObjectFormat::kPtx);
  EXPECT_THAT(Link(ObjectFormat::kPtx, {ptx}, ObjectFormat::kCubin, {"-lto"}),
              StatusIs(kInvalid, "without LTO IR"));
}

// A library of CUDA 13.0 does not know the flag, a newer one takes it.
TEST(OptionTableTest, NumbaDebugIsTakenOrRefusedAsNvJitLinkDoes) {
  const auto api = LoadNvJitLink({});
  ASSERT_OK(api);
  const std::string lto = Cpp(kSource, ObjectFormat::kLtoir);
  const auto create = [&](std::vector<const char*> words) {
    nvJitLinkHandle handle = nullptr;
    const nvJitLinkResult result = (*api)->nvJitLinkCreate(
        &handle, static_cast<uint32_t>(words.size()), words.data());
    if (result == NVJITLINK_SUCCESS) (*api)->nvJitLinkDestroy(&handle);
    return result;
  };
  ASSERT_EQ(create({"-arch=sm_90", "-lto"}), NVJITLINK_SUCCESS);
  const auto linked =
      Link(ObjectFormat::kLtoir, {lto}, ObjectFormat::kCubin, {"-numba-debug"});
  if (create({"-arch=sm_90", "-lto", "-numba-debug"}) == NVJITLINK_SUCCESS) {
    EXPECT_OK(linked);
  } else {
    EXPECT_THAT(linked, StatusIs(kInvalid, "-numba-debug"));
  }
}

// Left out is what a newer library than 13.0 takes.
TEST(OptionTableTest, BackEndsTakeTheirFlags) {
  const std::string ir = NvvmKernel("f", "fadd float %v, 1.0", "");
  const std::string lto = Cpp(kSource, ObjectFormat::kLtoir);
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.name == "--numba-debug" || spec.name == "--dlink-time-opt") {
      continue;
    }
    const std::string word = SampleWord(spec);
    if (!spec.nvrtc.empty()) {
      ProgramSource program =
          Source(Language::kCudaCpp, kSource, ObjectFormat::kPtx, {word});
      // Only from here on.
      if (spec.name == "--device-float128") program.arch = "100";
      EXPECT_OK(TheCompiler().Compile(program)) << word;
    }
    if (!spec.nvvm.empty()) {
      EXPECT_OK(Compile(Language::kNvvmIr, ir, ObjectFormat::kPtx, {word}))
          << word;
    }
    if (!spec.nvjitlink.empty()) {
      EXPECT_OK(Link(ObjectFormat::kLtoir, {lto}, ObjectFormat::kCubin, {word}))
          << word;
    }
  }
}

}  // namespace
}  // namespace holdfast::compile
