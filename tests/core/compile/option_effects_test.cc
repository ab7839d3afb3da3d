// SPDX-License-Identifier: Apache-2.0
//
// The effect of each option on the code, the log or an error.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/core/compile/toolkit_compiler.h"
#include "tests/testing/nvvm_kernel.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::compile {
namespace {

using holdfast::testing::NvvmKernel;
using holdfast::testing::StatusIs;

using Options = std::vector<std::string>;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPtx = ObjectFormat::kPtx;
constexpr auto kCubin = ObjectFormat::kCubin;
constexpr auto kLtoir = ObjectFormat::kLtoir;

constexpr char kArithmetic[] =
    "__device__ int v; extern \"C\" __global__ void f(float* p, int n) {"
    "  for (int i = 0; i < n; ++i)"
    "    p[i] = p[i + 1] * p[i + 2] + p[i + 3] / sqrtf(p[i + 4]) + n + v; }";

constexpr char kUnusedVariable[] = "__global__ void f() { int unused; }";

ObjectCode Made(const std::string& source, ObjectFormat target, Options options,
                Language language = Language::kCudaCpp) {
  auto object = Compile(language, source, target, std::move(options));
  EXPECT_OK(object);
  return object.ok() ? *std::move(object) : ObjectCode();
}

std::string Ptx(const std::string& source, Options options) {
  return Made(source, kPtx, std::move(options)).bytes;
}

std::string IrPtx(const std::string& expression, Options options,
                  const std::string& declarations = "") {
  return Made(NvvmKernel("f", expression, declarations), kPtx,
              std::move(options), Language::kNvvmIr)
      .bytes;
}

ObjectCode Linked(ObjectFormat format, const std::string& part, Options options,
                  ObjectFormat target = kCubin) {
  auto object = Link(format, {part}, target, std::move(options));
  EXPECT_OK(object);
  return object.ok() ? *std::move(object) : ObjectCode();
}

// LTO IR of the arithmetic, linked to PTX.
std::string LtoPtx(Options options) {
  return Linked(kLtoir, Cpp(kArithmetic, kLtoir), std::move(options), kPtx)
      .bytes;
}

void ExpectHas(const std::string& text, const std::string& part) {
  EXPECT_TRUE(absl::StrContains(text, part)) << part << " is not in\n" << text;
}

void ExpectHasNot(const std::string& text, const std::string& part) {
  EXPECT_FALSE(absl::StrContains(text, part)) << part << " is in\n" << text;
}

// The source compiles with the options, and not with `without`.
void ExpectNeeds(const std::string& source, Options options,
                 Options without = {}) {
  EXPECT_OK(Compile(Language::kCudaCpp, source, kPtx, std::move(options)));
  const auto object =
      Compile(Language::kCudaCpp, source, kPtx, std::move(without));
  EXPECT_EQ(object.status().code(), kInvalid) << object.status();
}

TEST(OptionEffectsTest, ArithmeticOptionsChangeTheCode) {
  ExpectHas(Ptx(kArithmetic, {}), "fma.rn.f32");
  ExpectHasNot(Ptx(kArithmetic, {"--fmad=false"}), "fma.rn");
  ExpectHas(Ptx(kArithmetic, {"--ftz=true"}), "fma.rn.ftz.f32");
  ExpectHas(Ptx(kArithmetic, {}), "div.rn.f32");
  ExpectHas(Ptx(kArithmetic, {"--prec-div=false"}), "div.full.f32");
  ExpectHas(Ptx(kArithmetic, {}), "sqrt.rn.f32");
  ExpectHas(Ptx(kArithmetic, {"--prec-sqrt=false"}), "sqrt.approx.f32");
  ExpectHas(Ptx(kArithmetic, {"--use_fast_math"}), ".ftz.");
}

TEST(OptionEffectsTest, ArithmeticOptionsChangeTheCodeOfNvvmIr) {
  ExpectHas(IrPtx("fadd float %v, 1.0", {"--ftz=true"}), "add.ftz.f32");
  const std::string call = "call float @square_and_more(float %v)";
  const std::string callee =
      "define float @square_and_more(float %v) {\n"
      "  %m = fmul float %v, %v\n  %s = fadd float %m, %v\n"
      "  ret float %s\n}";
  ExpectHas(IrPtx(call, {}, callee), "fma.rn.f32");
  ExpectHasNot(IrPtx(call, {"--fmad=false"}, callee), "fma.rn");
  ExpectHas(IrPtx("fdiv float %v, 3.0", {}), "div.rn.f32");
  ExpectHas(IrPtx("fdiv float %v, 3.0", {"--prec-div=false"}), "div.full.f32");
  const std::string root = "call float @llvm.nvvm.sqrt.f(float %v)";
  const std::string declared = "declare float @llvm.nvvm.sqrt.f(float)";
  ExpectHas(IrPtx(root, {}, declared), "sqrt.rn.f32");
  ExpectHas(IrPtx(root, {"--prec-sqrt=false"}, declared), "sqrt.approx.f32");
}

TEST(OptionEffectsTest, ArithmeticOptionsChangeTheCodeOfLtoIr) {
  ExpectHas(LtoPtx({}), "fma.rn.f32");
  ExpectHasNot(LtoPtx({"--fmad=false"}), "fma.rn");
  ExpectHas(LtoPtx({"--ftz=true"}), ".ftz.");
  ExpectHas(LtoPtx({}), "div.rn.f32");
  ExpectHas(LtoPtx({"--prec-div=false"}), "div.full.f32");
  const std::string lto =
      Made(NvvmKernel("f", "call float @llvm.nvvm.sqrt.f(float %v)",
                      "declare float @llvm.nvvm.sqrt.f(float)"),
           kLtoir, {}, Language::kNvvmIr)
          .bytes;
  ExpectHas(Linked(kLtoir, lto, {}, kPtx).bytes, "sqrt.rn.f32");
  ExpectHas(Linked(kLtoir, lto, {"--prec-sqrt=false"}, kPtx).bytes,
            "sqrt.approx.f32");
}

TEST(OptionEffectsTest, DiagnosticOptionsChangeTheLog) {
  const auto log = [](Options options) {
    return Made(kUnusedVariable, kPtx, std::move(options)).log;
  };
  ExpectHas(log({}), "#177-D");
  EXPECT_EQ(log({"--disable-warnings"}), "");
  EXPECT_EQ(log({"--diag-suppress=177"}), "");
  ExpectHasNot(log({"--no-display-error-number"}), "#177");
  ExpectHas(log({"--display-error-number"}), "#177");
  ExpectHas(log({"--diag-warn=177"}), "#177");
  EXPECT_LT(log({"--brief-diagnostics=true"}).size(), log({}).size());
  ExpectNeeds(kUnusedVariable, {}, {"--diag-error=177"});
}

TEST(OptionEffectsTest, CompilersTellWhatTheyDid) {
  const std::string calls =
      "__device__ __noinline__ int two() { return 2; }"
      "extern \"C\" __global__ void f(int* p) { *p = two(); }";
  ExpectHas(Made(calls, kPtx, {"--optimization-info=inline"}).log, "inlined");
  ExpectHas(Made(calls, kCubin, {"--ptxas-options=-v"}).log, "registers");
  const std::string ptx = Cpp(calls, kPtx);
  EXPECT_EQ(Linked(kPtx, ptx, {}).log, "");
  ExpectHas(Linked(kPtx, ptx, {"--verbose"}).log, "Compiling entry function");
  ExpectHas(Linked(kPtx, ptx, {"-Xptxas=-v"}).log, "Compiling entry function");
  ExpectHas(Linked(kPtx, ptx, {"--time"}).log, "nvJitLinkComplete time");
}

TEST(OptionEffectsTest, LanguageOptionsChangeTheLanguage) {
  const std::string value = "extern \"C\" __device__ long long v = ";
  ExpectHas(Ptx(value + "__cplusplus;", {"--std=c++14"}), "v = 201402");
  ExpectHas(Ptx(value + "__cplusplus;", {"-std=c++20"}), "v = 202002");
  ExpectHas(Ptx(value + "N;", {"--define-macro=N=4"}), "v = 4");
  ExpectHas(Ptx(value + "N;", {"-DN=5"}), "v = 5");
  ExpectNeeds(value + "N;", {"-DN=5"}, {"-DN=5", "--undefine-macro=N"});
  ExpectNeeds("__device__ __int128 x;", {"--device-int128"});
  ExpectNeeds("__device__ int f(std::initializer_list<int> l);",
              {"--builtin-initializer-list=true"},
              {"--builtin-initializer-list=false"});
  ExpectNeeds("struct S {}; __device__ S f(S&& s) { return std::move(s); }",
              {"--builtin-move-forward=true"},
              {"--builtin-move-forward=false"});
  ExpectNeeds("__device__ cudaTextureObject_t t;", {}, {"--minimal"});
  ExpectNeeds(
      "__global__ void child() {}"
      "__global__ void parent() { child<<<1, 1>>>(); }",
      {"--extensible-whole-program"});
  ExpectHasNot(Ptx(kArithmetic, {"--fdevice-syntax-only"}), ".entry");
}

TEST(OptionEffectsTest, Float128NeedsItsOption) {
  for (const bool given : {true, false}) {
    ProgramSource program =
        Source(Language::kCudaCpp, "__device__ __float128 x;", kPtx,
               given ? Options{"--device-float128"} : Options{});
    program.arch = "100";
    EXPECT_EQ(TheCompiler().Compile(program).ok(), given);
  }
}

TEST(OptionEffectsTest, RelocatableCodeKeepsFunctions) {
  const std::string plain = "int twice(int x) { return 2 * x; }";
  ExpectHas(Ptx(plain, {"--device-c", "--device-as-default-execution-space"}),
            "_Z5twicei");
  const std::string device = "__device__ " + plain;
  ExpectHas(Ptx(device, {"--relocatable-device-code=true"}), "_Z5twicei");
  ExpectHasNot(Ptx(device, {"--relocatable-device-code=false"}), "_Z5twicei");
  // The effect of --device-w is the default; the other's is not, and not both.
  ExpectNeeds(device, {"--device-w"}, {"--device-w", "--device-c"});
}

TEST(OptionEffectsTest, OptimizingOptionsChangeTheCode) {
  EXPECT_LT(Ptx(kArithmetic, {"--Ofast-compile=max"}).size(),
            Ptx(kArithmetic, {}).size());
  const std::string copy =
      "extern \"C\" __global__ void f(float* a, const float* b) {"
      "  a[0] = b[0]; }";
  ExpectHasNot(Ptx(copy, {}), "ld.global.nc");
  ExpectHas(Ptx(copy, {"--restrict"}), "ld.global.nc");
  const std::string debug = Ptx(kArithmetic, {"--device-debug"});
  ExpectHas(debug, ".debug_info");
  EXPECT_LT(Ptx(kArithmetic, {"--device-debug", "--dopt=on"}).size(),
            debug.size());
  EXPECT_NE(Made(kArithmetic, kLtoir, {"-rdc=true"}).bytes,
            Made(kArithmetic, kLtoir, {"-rdc=true", "--gen-opt-lto"}).bytes);
  const std::string array =
      "extern \"C\" __global__ void f(char* p, int n) { char b[64];"
      "  for (int i = 0; i < n; ++i) b[i] = p[i];"
      "  p[0] = b[p[1]]; }";
  EXPECT_LT(
      Made(array, kCubin, {"--device-stack-protector=false"}).bytes.size(),
      Made(array, kCubin, {"--device-stack-protector=true"}).bytes.size());
}

TEST(OptionEffectsTest, DenseCasesBecomeAJumpTable) {
  std::string cases;
  for (int i = 0; i < 12; ++i) {
    absl::StrAppend(&cases, "case ", 3 * i, ": p[", i * i % 7, "] = ", i * i,
                    "; break;");
  }
  const std::string source = absl::StrCat(
      "extern \"C\" __global__ void f(int* p, int x) { switch (x) {", cases,
      "} }");
  ExpectHasNot(Ptx(source, {"--jump-table-density=101"}), "brx.idx");
  ExpectHas(Ptx(source, {"--jump-table-density=1"}), "brx.idx");
  const std::string lto = Cpp(source, kLtoir);
  ExpectHasNot(Linked(kLtoir, lto, {"--jump-table-density=101"}, kPtx).bytes,
               "brx.idx");
  ExpectHas(Linked(kLtoir, lto, {"--jump-table-density=1"}, kPtx).bytes,
            "brx.idx");
}

TEST(OptionEffectsTest, LinesAreNotedWhereTheyAreAskedFor) {
  ExpectHasNot(Ptx(kArithmetic, {}), ".loc");
  ExpectHas(Ptx(kArithmetic, {"--generate-line-info"}), ".loc");
  for (const ObjectFormat format : {kPtx, kLtoir}) {
    const std::string part = Cpp(kArithmetic, format);
    ExpectHasNot(Linked(format, part, {}).bytes, ".debug_line");
    ExpectHas(Linked(format, part, {"--generate-line-info"}).bytes,
              ".debug_line");
  }
}

TEST(OptionEffectsTest, RegistersAreLimited) {
  const Options limited = {"--maxrregcount=24", "-Xptxas=-v"};
  const std::string says = "Overriding maximum register limit 256 for 'f'";
  ExpectHas(Made(kArithmetic, kCubin, limited).log, says);
  ExpectHas(Linked(kPtx, Cpp(kArithmetic, kPtx), limited).log, says);
  ExpectHas(Linked(kLtoir, Cpp(kArithmetic, kLtoir), limited).log, says);
}

TEST(OptionEffectsTest, LevelsOfOptimizationChangeTheCode) {
  const std::string part = Cpp(kArithmetic, kPtx);
  EXPECT_NE(Linked(kPtx, part, {"-O0"}).bytes,
            Linked(kPtx, part, {"-O3"}).bytes);
  EXPECT_NE(Linked(kPtx, part, {"--dopt=off"}).bytes,
            Linked(kPtx, part, {"--dopt=on"}).bytes);
  ExpectHas(Linked(kPtx, part, {"--device-debug"}).bytes, ".debug_line");
  EXPECT_NE(IrPtx("fadd float %v, 1.0", {"--optimization-level=0"}),
            IrPtx("fadd float %v, 1.0", {"--optimization-level=3"}));
  EXPECT_NE(IrPtx("fadd float %v, 1.0", {"--dopt=off"}),
            IrPtx("fadd float %v, 1.0", {"--dopt=on"}));
}

TEST(OptionEffectsTest, LinkerDropsWhatIsNotUsed) {
  const std::string two =
      "__device__ int a = 1; __device__ int b = 2;"
      "extern \"C\" __global__ void f(int* p) { *p = a; }"
      "extern \"C\" __global__ void g(int* p) { *p = b; }";
  const std::string ptx = Cpp(two, kPtx);
  const std::string all = Linked(kPtx, ptx, {}).bytes;
  ExpectHas(all, ".text.g");
  ExpectHasNot(Linked(kPtx, ptx, {"--kernels-used=f"}).bytes, ".text.g");
  EXPECT_LT(Linked(kPtx, ptx, {"--variables-used=a"}).bytes.size(), all.size());
  const std::string lto = Cpp(two, kLtoir);
  EXPECT_LT(
      Linked(kLtoir, lto, {"--kernels-used=f", "--optimize-unused-variables"})
          .bytes.size(),
      Linked(kLtoir, lto, {"--kernels-used=f"}).bytes.size());
}

// The functions are compiled apart, so they are still there.
TEST(OptionEffectsTest, SplitCompilationKeepsFunctionsApart) {
  std::string source = kArithmetic;
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&source, "__device__ __noinline__ float d", i,
                    "(float x) { return x * ", i, "; }",
                    "extern \"C\" __global__ void k", i,
                    "(float* p) { p[0] = d", i, "(p[1]); }");
  }
  const std::string lto = Cpp(source, kLtoir);
  ExpectHasNot(Linked(kLtoir, lto, {}).bytes, ".text._Z2d1f");
  ExpectHas(Linked(kLtoir, lto, {"--split-compile-extended=2"}).bytes,
            ".text._Z2d1f");
}

}  // namespace
}  // namespace holdfast::compile
