// SPDX-License-Identifier: Apache-2.0
//
// The table of options against README.md, and against the libraries.
#include <gtest/gtest.h>

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
#include "core/compile/compiler.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::compile {
namespace {

using holdfast::testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr Backend kBackends[] = {Backend::kNvrtc, Backend::kNvvm,
                                 Backend::kNvJitLink};

constexpr char kSource[] =
    "__device__ int v; extern \"C\" __global__ void f(float* p, int n) {"
    "  p[0] = p[1] * p[2] + p[3] / sqrtf(p[4]) + n + v; }";

constexpr char kIr[] = R"(
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
define void @f(float* %p) {
  %v = load float, float* %p
  %s = fadd float %v, 1.0
  store float %s, float* %p
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (float*)* @f, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
)";

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

const Compiler& TheCompiler() {
  static const Compiler& compiler = *Compiler::Load({}).release();
  return compiler;
}

absl::StatusOr<ObjectCode> Compile(const std::string& source,
                                   std::vector<std::string> options,
                                   ObjectFormat target = ObjectFormat::kPtx,
                                   Language language = Language::kCudaCpp,
                                   const std::string& arch = "90") {
  ProgramSource program;
  program.source = source;
  program.options = std::move(options);
  program.target = target;
  program.language = language;
  program.arch = arch;
  return TheCompiler().Compile(program);
}

std::string Code(const std::string& source, std::vector<std::string> options) {
  const auto object = Compile(source, std::move(options));
  EXPECT_OK(object);
  return object.ok() ? object->bytes : "";
}

absl::StatusOr<ObjectCode> Link(const std::string& part, ObjectFormat format,
                                std::vector<std::string> options) {
  LinkSource source;
  source.inputs.push_back({"part", format, part});
  source.target = ObjectFormat::kCubin;
  source.arch = "90";
  source.options = std::move(options);
  return TheCompiler().Link(source);
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
  const auto& suite = *::testing::UnitTest::GetInstance()->current_test_suite();
  for (int i = 0; i < suite.total_test_count(); ++i) {
    tests.insert(suite.GetTestInfo(i)->name());
  }
  for (const auto& row : ReadmeRows()) {
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
  EXPECT_THAT(Render("-dlto", Backend::kNvrtc, ObjectFormat::kPtx),
              StatusIs(kInvalid, "for the target PTX"));
  EXPECT_THAT(Render("-dlto", Backend::kNvvm, ObjectFormat::kPtx),
              StatusIs(kInvalid, "for the target PTX"));
  EXPECT_OK(Compile(kSource, {"-dlto"}, ObjectFormat::kLtoir));
  EXPECT_THAT(Link(Code(kSource, {}), ObjectFormat::kPtx, {"-lto"}),
              StatusIs(kInvalid, "without LTO IR"));
}

// Left out is what a newer library than 13.0 takes.
TEST(OptionTableTest, BackEndsTakeTheirFlags) {
  const auto lto = Compile(kSource, {"-rdc=true"}, ObjectFormat::kLtoir);
  ASSERT_OK(lto);
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.name == "--numba-debug" || spec.name == "--dlink-time-opt") {
      continue;
    }
    const std::string word = SampleWord(spec);
    // Only from here on.
    const char* arch = spec.name == "--device-float128" ? "100" : "90";
    if (!spec.nvrtc.empty()) {
      EXPECT_OK(Compile(kSource, {word}, ObjectFormat::kPtx, Language::kCudaCpp,
                        arch))
          << word;
    }
    if (!spec.nvvm.empty()) {
      EXPECT_OK(Compile(kIr, {word}, ObjectFormat::kPtx, Language::kNvvmIr))
          << word;
    }
    if (!spec.nvjitlink.empty()) {
      EXPECT_OK(Link(lto->bytes, ObjectFormat::kLtoir, {word})) << word;
    }
  }
}

TEST(OptionTableTest, ArithmeticOptionsChangeTheCode) {
  EXPECT_TRUE(absl::StrContains(Code(kSource, {}), "fma.rn.f32"));
  EXPECT_FALSE(absl::StrContains(Code(kSource, {"--fmad=false"}), "fma.rn"));
  EXPECT_TRUE(
      absl::StrContains(Code(kSource, {"--ftz=true"}), "fma.rn.ftz.f32"));
  EXPECT_TRUE(absl::StrContains(Code(kSource, {}), "div.rn.f32"));
  EXPECT_TRUE(
      absl::StrContains(Code(kSource, {"--prec-div=false"}), "div.full.f32"));
  EXPECT_TRUE(absl::StrContains(Code(kSource, {"--prec-sqrt=false"}),
                                "sqrt.approx.f32"));
  EXPECT_TRUE(absl::StrContains(Code(kSource, {"--use_fast_math"}), ".ftz."));
  const auto ir =
      Compile(kIr, {"--ftz=true"}, ObjectFormat::kPtx, Language::kNvvmIr);
  ASSERT_OK(ir);
  EXPECT_TRUE(absl::StrContains(ir->bytes, "add.ftz.f32"));
}

TEST(OptionTableTest, DiagnosticOptionsChangeTheLog) {
  const std::string unused = "__global__ void f() { int unused; }";
  const auto log = [&](std::vector<std::string> options) {
    const auto object = Compile(unused, std::move(options));
    EXPECT_OK(object);
    return object.ok() ? object->log : "";
  };
  EXPECT_TRUE(absl::StrContains(log({}), "#177-D"));
  EXPECT_EQ(log({"--disable-warnings"}), "");
  EXPECT_EQ(log({"--diag-suppress=177"}), "");
  EXPECT_FALSE(absl::StrContains(log({"--no-display-error-number"}), "#177"));
  EXPECT_TRUE(absl::StrContains(log({"--display-error-number"}), "#177"));
  EXPECT_TRUE(absl::StrContains(log({"--diag-warn=177"}), "#177"));
  EXPECT_LT(log({"--brief-diagnostics=true"}).size(), log({}).size());
  EXPECT_EQ(Compile(unused, {"--diag-error=177"}).status().code(), kInvalid);
}

TEST(OptionTableTest, LanguageOptionsChangeTheLanguage) {
  const std::string value = "extern \"C\" __device__ long long v = ";
  const auto is = [&](const std::string& text, const std::string& expected,
                      std::vector<std::string> options) {
    const std::string code = Code(value + text + ";", std::move(options));
    return absl::StrContains(code, "v = " + expected);
  };
  EXPECT_TRUE(is("__cplusplus", "201402", {"--std=c++14"}));
  EXPECT_TRUE(is("__cplusplus", "202002", {"-std=c++20"}));
  EXPECT_TRUE(is("N", "4", {"--define-macro=N=4"}));
  EXPECT_TRUE(is("N", "5", {"-DN=5"}));
  EXPECT_EQ(Compile(value + "N;", {"-DN=5", "-UN"}).status().code(), kInvalid);
  const std::string plain = "int twice(int x) { return 2 * x; }";
  EXPECT_TRUE(absl::StrContains(Code(plain, {"--device-c", "-default-device"}),
                                "_Z5twicei"));
  EXPECT_TRUE(absl::StrContains(
      Code("__device__ " + plain, {"--relocatable-device-code=true"}),
      "_Z5twicei"));
  EXPECT_FALSE(absl::StrContains(
      Code("__device__ " + plain, {"--relocatable-device-code=false"}),
      "_Z5twicei"));
  EXPECT_OK(Compile("__device__ __int128 x;", {"--device-int128"}));
  EXPECT_FALSE(
      absl::StrContains(Code(kSource, {"--fdevice-syntax-only"}), ".entry"));
}

TEST(OptionTableTest, LinkerOptionsChangeTheResult) {
  const std::string two =
      "__device__ int a = 1; __device__ int b = 2;"
      "extern \"C\" __global__ void f(int* p) { *p = a; }"
      "extern \"C\" __global__ void g(int* p) { *p = b; }";
  const std::string ptx = Code(two, {"-rdc=true"});
  const auto link = [&](std::vector<std::string> options) {
    auto object = Link(ptx, ObjectFormat::kPtx, std::move(options));
    EXPECT_OK(object);
    return object.ok() ? *std::move(object) : ObjectCode();
  };
  EXPECT_TRUE(absl::StrContains(link({}).bytes, ".text.g"));
  EXPECT_FALSE(absl::StrContains(link({"--kernels-used=f"}).bytes, ".text.g"));
  EXPECT_LT(link({"--variables-used=a"}).bytes.size(), link({}).bytes.size());
  EXPECT_FALSE(link({"--verbose"}).log.empty());
  EXPECT_TRUE(
      absl::StrContains(link({"-Xptxas=-v"}).log, "Compiling entry function"));
  EXPECT_NE(link({"-O0"}).bytes, link({"-O3"}).bytes);
  EXPECT_NE(link({"--dopt=off"}).bytes, link({"--dopt=on"}).bytes);
  EXPECT_NE(link({"-g"}).bytes, link({}).bytes);
  const auto lto = Compile(two, {"-rdc=true"}, ObjectFormat::kLtoir);
  ASSERT_OK(lto);
  const auto some = Link(lto->bytes, ObjectFormat::kLtoir,
                         {"--kernels-used=f", "--optimize-unused-variables"});
  const auto all = Link(lto->bytes, ObjectFormat::kLtoir, {"--kernels-used=f"});
  ASSERT_OK(some);
  ASSERT_OK(all);
  EXPECT_LT(some->bytes.size(), all->bytes.size());
}

}  // namespace
}  // namespace holdfast::compile
