// SPDX-License-Identifier: Apache-2.0
#include "core/compile/nvrtc_compiler.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "core/base/error_detail.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::compile {
namespace {

using holdfast::testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class NvrtcCompilerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto api = LoadNvrtc({});
    ASSERT_OK(api);
    api_ = api->release();
  }

  absl::StatusOr<ObjectCode> Compile(const ProgramSource& program) {
    return NvrtcCompiler(*api_).Compile(program);
  }

  static ProgramSource Source(const std::string& text) {
    ProgramSource program;
    program.source = text;
    program.arch = "sm_90";
    return program;
  }

  static inline const NvrtcApi* api_ = nullptr;
};

constexpr char kTemplate[] =
    "template <typename T> __global__ void twice(T* p) { *p = *p * 2; }";

TEST_F(NvrtcCompilerTest, NameExpressionsLeadToSymbolsOfTheObject) {
  ProgramSource program = Source(kTemplate);
  program.name_expressions = {"twice<float>", "twice<double>"};
  ASSERT_OK_AND_ASSIGN(const ObjectCode object, Compile(program));
  EXPECT_EQ(object.format, ObjectFormat::kPtx);
  EXPECT_EQ(object.arch, "compute_90");
  ASSERT_EQ(object.symbols.size(), 2u);
  for (const auto& [expression, symbol] : object.symbols) {
    EXPECT_TRUE(absl::StrContains(object.bytes, ".entry " + symbol));
  }
}

TEST_F(NvrtcCompilerTest, CubinsAreElfFiles) {
  ProgramSource program = Source("extern \"C\" __global__ void k() {}");
  program.target = ObjectFormat::kCubin;
  ASSERT_OK_AND_ASSIGN(const ObjectCode object, Compile(program));
  EXPECT_EQ(object.bytes.substr(0, 4), "\177ELF");
  EXPECT_EQ(object.arch, "sm_90");
}

// A cubin itself tells sizes alone.
TEST_F(NvrtcCompilerTest, ACubinComesWithTheKindsOfItsParameters) {
  constexpr auto kInt = ParameterKind::kInteger;
  constexpr auto kFloat = ParameterKind::kFloat;
  constexpr auto kOther = ParameterKind::kOther;
  ProgramSource program = Source(
      "struct S { int a; float b; };"
      "extern \"C\" __global__ void k(float* p, float f, double d, int i, "
      "bool b, S s, long long l) { *p = f + d + i + b + s.b + l; }"
      "extern \"C\" __global__ void none() {}"
      "template <typename T> __global__ void t(T x, T* p) { *p = x; }");
  program.target = ObjectFormat::kCubin;
  program.name_expressions = {"t<float>", "t<short>"};
  for (const char* option : {"--fmad=true", "-G", "-lineinfo", "-rdc=true"}) {
    program.options = {option};
    ASSERT_OK_AND_ASSIGN(const ObjectCode object, Compile(program));
    const KernelParameters expected = {
        {"k", {kInt, kFloat, kFloat, kInt, kInt, kOther, kInt}},
        {"none", {}},
        {object.symbols.at("t<float>"), {kFloat, kInt}},
        {object.symbols.at("t<short>"), {kInt, kInt}}};
    EXPECT_EQ(object.kernels, expected) << option;
  }
}

TEST_F(NvrtcCompilerTest, LtoIrIsMade) {
  ProgramSource program = Source("extern \"C\" __global__ void k() {}");
  program.target = ObjectFormat::kLtoir;
  ASSERT_OK_AND_ASSIGN(const ObjectCode object, Compile(program));
  EXPECT_FALSE(object.bytes.empty());
}

TEST_F(NvrtcCompilerTest, ErrorsCarryTheWholeLogWithFileAndLine) {
  ProgramSource program = Source("\nint main( { }\nnonsense;\n");
  program.name = "broken.cu";
  const auto object = Compile(program);
  ASSERT_THAT(object, StatusIs(kInvalid, "broken.cu(2)"));
  const auto detail = GetErrorDetail(object.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->call, "nvrtcCompileProgram");
  EXPECT_EQ(detail->result_name, "NVRTC_ERROR_COMPILATION");
  EXPECT_TRUE(absl::StrContains(detail->log, "broken.cu(2)"));
  EXPECT_TRUE(absl::StrContains(detail->log, "broken.cu(3)"));
}

TEST_F(NvrtcCompilerTest, HeadersAndMacrosComeWithTheRequest) {
  ProgramSource program = Source(
      "#include \"mine.h\"\nextern \"C\" __global__ void k(int* p) "
      "{ *p = kMine + N; }");
  program.headers["mine.h"] = "constexpr int kMine = 7;";
  program.options = {"-D", "N=35"};
  ASSERT_OK_AND_ASSIGN(const ObjectCode object, Compile(program));
  EXPECT_TRUE(absl::StrContains(object.bytes, "42"));
  program.headers.clear();
  EXPECT_THAT(Compile(program), StatusIs(kInvalid, "mine.h"));
}

TEST_F(NvrtcCompilerTest, TheToolkitsHeadersAreFound) {
  EXPECT_OK(
      Compile(Source("#include <cuda_fp16.h>\n#include <cuda/std/cstdint>\n"
                     "extern \"C\" __global__ void k(__half* p) { *p = 1; }")));
}

TEST_F(NvrtcCompilerTest, HostHeadersAreNotThereAndTheErrorSaysWhatIs) {
  for (const char* header : {"cstdio", "vector", "stdlib.h"}) {
    EXPECT_THAT(
        Compile(Source(absl::StrCat("#include <", header, ">"))).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, "<cuda/std/...>"));
  }
}

TEST_F(NvrtcCompilerTest, WarningsAreInTheLogOfASuccess) {
  ASSERT_OK_AND_ASSIGN(
      const ObjectCode object,
      Compile(Source("extern \"C\" __global__ void k() { int unused; }")));
  EXPECT_TRUE(absl::StrContains(object.log, "unused"));
}

TEST_F(NvrtcCompilerTest, BadInputIsRefusedBeforeTheCompiler) {
  ProgramSource program = Source(kTemplate);
  program.options = {"-I/etc"};
  EXPECT_THAT(Compile(program), StatusIs(kInvalid, "-I/etc"));
  program = Source(kTemplate);
  program.arch = "hopper";
  EXPECT_THAT(Compile(program), StatusIs(kInvalid, "hopper"));
  program = Source(std::string("int a;\0int b;", 13));
  EXPECT_THAT(Compile(program), StatusIs(kInvalid, "zero byte"));
}

TEST_F(NvrtcCompilerTest, ANameExpressionThatDoesNotExistIsNamed) {
  ProgramSource program = Source(kTemplate);
  program.name_expressions = {"thrice<float>"};
  EXPECT_THAT(Compile(program), StatusIs(kInvalid, "thrice"));
}

TEST_F(NvrtcCompilerTest, ATemplateIsNoName) {
  ProgramSource program = Source(kTemplate);
  program.name_expressions = {"twice"};
  EXPECT_THAT(Compile(program),
              StatusIs(kInvalid,
                       "\"twice\" is a template: name an instance, "
                       "twice<float>"));
}

TEST_F(NvrtcCompilerTest, CodeOfTheHostInTheToolkitIsExplained) {
  EXPECT_THAT(Compile(Source("#include <thrust/device_vector.h>\n")),
              StatusIs(kInvalid, "include <cub/block/...>"));
}

// As the compiler of a file declares it.
TEST_F(NvrtcCompilerTest, ConditionsOfGraphsCanBeSet) {
  const std::string body =
      "extern \"C\" __global__ void k(cudaGraphConditionalHandle h) {\n"
      "  cudaGraphSetConditional(h, 1);\n"
      "}\n";
  ASSERT_OK_AND_ASSIGN(const ObjectCode object, Compile(Source(body)));
  EXPECT_TRUE(absl::StrContains(object.bytes, "cudaGraphSetConditional"));
  EXPECT_OK(Compile(
      Source("extern \"C\" __device__ void cudaGraphSetConditional("
             "cudaGraphConditionalHandle handle, unsigned int value);\n" +
             body)));
  ProgramSource program = Source(body + "nonsense\n");
  program.name = "graph \"1\".cu";
  EXPECT_THAT(Compile(program), StatusIs(kInvalid, "\"1\".cu(4)"));
}

TEST_F(NvrtcCompilerTest, KnowsItsVersion) {
  EXPECT_TRUE(absl::StartsWith(NvrtcCompiler(*api_).version(), "1"));
}

TEST(NvrtcApiTest, AbsenceListsWhereItWasSought) {
  ToolkitOptions options;
  options.cuda_home = "/nonexistent";
  EXPECT_THAT(LoadNvrtc(options),
              StatusIs(absl::StatusCode::kUnavailable,
                       "/nonexistent/lib64/libnvrtc.so.13"));
}

}  // namespace
}  // namespace holdfast::compile
