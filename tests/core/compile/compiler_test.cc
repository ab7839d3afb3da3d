// SPDX-License-Identifier: Apache-2.0
//
// Every language to every target, and linking, with the toolkit's own
// libraries. No GPU: what a cubin holds is read from its bytes.
#include "core/compile/compiler.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "core/base/error_detail.h"
#include "tests/core/compile/toolkit_compiler.h"
#include "tests/core/software/driver/containers.h"
#include "tests/testing/nvvm_kernel.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::compile {
namespace {

using holdfast::testing::NvvmKernel;
using holdfast::testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

constexpr char kCaller[] =
    "extern __device__ int twice(int);"
    "extern \"C\" __global__ void caller(int* p) { *p = twice(*p); }";
constexpr char kCallee[] = "__device__ int twice(int x) { return 2 * x; }";

std::string Sine() {
  return NvvmKernel("sine", "call float @__nv_sinf(float %v)",
                    "declare float @__nv_sinf(float)");
}

std::string LogOf(const absl::Status& status) {
  const auto detail = GetErrorDetail(status);
  return detail.has_value() ? detail->log : "";
}

// nvJitLink 13.0 says so on stderr only, and calls it a success; in a process
// that has linked before it crashes, so this comes first.
TEST(CompilerTest, SymbolThatIsDefinedTwiceIsAnError) {
  const std::string callee = Cpp(kCallee, ObjectFormat::kPtx);
  EXPECT_THAT(InChild([&] {
                return Link(ObjectFormat::kPtx, {callee, callee},
                            ObjectFormat::kCubin)
                    .status();
              }),
              StatusIs(kInvalid, "_Z5twicei"));
}

TEST(CompilerTest, TellsWhatItConsistsOf) {
  ASSERT_OK(TheCompiler().status());
  EXPECT_TRUE(absl::StrContains(TheCompiler().version(), "NVRTC 1"));
  EXPECT_TRUE(absl::StrContains(TheCompiler().version(), "nvJitLink 1"));
  EXPECT_TRUE(absl::StrContains(TheCompiler().version(), "libNVVM "));
  EXPECT_EQ(TheCompiler().files().size(), 4);
  for (const std::string& file : TheCompiler().files()) {
    EXPECT_TRUE(std::ifstream(file).good()) << file;
  }
}

TEST(CompilerTest, ToolkitThatIsNotThereIsUnavailableByName) {
  const auto none = Compiler::Load({.cuda_home = "/nonexistent"});
  EXPECT_THAT(none->status(),
              StatusIs(absl::StatusCode::kUnavailable, "/nonexistent/lib64"));
  EXPECT_THAT(
      none->Compile(Source(Language::kNvvmIr, Sine(), ObjectFormat::kPtx)),
      StatusIs(absl::StatusCode::kUnavailable, "libNVVM"));
  EXPECT_THAT(none->Link({}),
              StatusIs(absl::StatusCode::kUnavailable, "nvJitLink"));
}

// The driver compiles it when it is loaded.
// Other programs read it as a file, where a zero byte is an error.
TEST(CompilerTest, PtxIsTextWithoutAZeroByte) {
  const std::string lto = Cpp(kCaller, ObjectFormat::kLtoir);
  const std::string callee = Cpp(kCallee, ObjectFormat::kLtoir);
  const absl::StatusOr<ObjectCode> all[] = {
      Compile(Language::kCudaCpp, kCallee, ObjectFormat::kPtx),
      Compile(Language::kNvvmIr, Sine(), ObjectFormat::kPtx),
      Link(ObjectFormat::kLtoir, {lto, callee}, ObjectFormat::kPtx)};
  for (const absl::StatusOr<ObjectCode>& object : all) {
    ASSERT_OK(object);
    EXPECT_EQ(object->bytes.find('\0'), std::string::npos) << object->backend;
    EXPECT_EQ(object->log.find('\0'), std::string::npos) << object->backend;
  }
}

TEST(CompilerTest, WithoutNvJitLinkPtxIsStillLinkedToPtx) {
  const auto none = Compiler::Load({.cuda_home = "/nonexistent"});
  const std::string caller = Cpp(kCaller, ObjectFormat::kPtx);
  const auto kept =
      none->Compile(Source(Language::kPtx, caller, ObjectFormat::kPtx));
  ASSERT_OK(kept);
  EXPECT_EQ(kept->bytes, caller);
  EXPECT_EQ(kept->backend, "Holdfast");
  const std::string callee = Cpp(kCallee, ObjectFormat::kPtx);
  LinkSource source;
  source.inputs = {{"caller", ObjectFormat::kPtx, caller},
                   {"callee", ObjectFormat::kPtx, callee}};
  source.target = ObjectFormat::kPtx;
  source.arch = "90";
  const auto linked = none->Link(source);
  ASSERT_OK(linked);
  EXPECT_TRUE(absl::StrContains(linked->bytes, ".entry caller"));
  source.target = ObjectFormat::kCubin;
  EXPECT_THAT(none->Link(source), StatusIs(absl::StatusCode::kUnavailable,
                                           "several PTX modules become PTX"));
  EXPECT_THAT(
      none->Compile(Source(Language::kPtx, "hello", ObjectFormat::kPtx)),
      StatusIs(kInvalid, "test"));
}

// nvJitLink reads it up to a zero; what lies behind it is not its own.
TEST(CompilerTest, PtxNeedNotEndWithAZeroToBeLinked) {
  const std::string header =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry ";
  const std::string first = header + "f() { ret; }\n";
  const std::string both = first + header + "g() { ret; }\n@";
  absl::string_view rest = both;
  LinkSource source;
  source.inputs = {{"f", ObjectFormat::kPtx, rest.substr(0, first.size())},
                   {"g", ObjectFormat::kPtx, rest.substr(first.size())}};
  source.inputs[1].bytes.remove_suffix(1);
  source.target = ObjectFormat::kCubin;
  source.arch = "90";
  const auto linked = TheCompiler().Link(source);
  ASSERT_OK(linked);
  EXPECT_TRUE(IsCubin(*linked, "f"));
  EXPECT_TRUE(IsCubin(*linked, "g"));
}

TEST(CompilerTest, PtxBecomesACubin) {
  const std::string ptx = Cpp(
      "extern \"C\" __global__ void k(int* p) { *p = 1; }", ObjectFormat::kPtx);
  const auto cubin = Compile(Language::kPtx, ptx, ObjectFormat::kCubin);
  ASSERT_OK(cubin);
  EXPECT_TRUE(IsCubin(*cubin, "k"));
  EXPECT_EQ(cubin->backend, "nvJitLink");
  EXPECT_EQ(cubin->arch, "sm_90");
}

TEST(CompilerTest, PtxToPtxIsCheckedAndUnchanged) {
  const std::string ptx = Cpp(kCaller, ObjectFormat::kPtx);
  const auto same = Compile(Language::kPtx, ptx, ObjectFormat::kPtx);
  ASSERT_OK(same);
  EXPECT_EQ(same->bytes, ptx);
  const std::string broken = absl::StrReplaceAll(ptx, {{"ld.param", "ld.x"}});
  const absl::Status status = InChild([&] {
    return Compile(Language::kPtx, broken, ObjectFormat::kPtx).status();
  });
  EXPECT_THAT(status, StatusIs(kInvalid, "nvJitLinkAddData"));
  EXPECT_THAT(status, StatusIs(kInvalid, "error"));
  EXPECT_THAT(Compile(Language::kPtx, ptx, ObjectFormat::kPtx, {"-G"}),
              StatusIs(kInvalid, "-G"));
}

TEST(CompilerTest, PtxOfANewerVersionIsAnErrorWithBothVersions) {
  EXPECT_THAT(InChild([] {
                return Compile(Language::kPtx,
                               ".version 99.9\n.target sm_90\n"
                               ".address_size 64\n",
                               ObjectFormat::kCubin)
                    .status();
              }),
              StatusIs(kInvalid, "99.9"));
}

TEST(CompilerTest, NvvmIrBecomesPtxWithLibdevice) {
  const auto ptx = Compile(Language::kNvvmIr, Sine(), ObjectFormat::kPtx);
  ASSERT_OK(ptx);
  EXPECT_TRUE(absl::StrContains(ptx->bytes, ".entry sine"));
  // The function's body is there, not a reference to it.
  EXPECT_FALSE(absl::StrContains(ptx->bytes, ".extern")) << ptx->bytes;
  EXPECT_EQ(ptx->backend, "libNVVM");
  EXPECT_EQ(ptx->arch, "compute_90");
}

TEST(CompilerTest, NvvmIrBecomesACubinAndLtoIr) {
  const auto cubin = Compile(Language::kNvvmIr, Sine(), ObjectFormat::kCubin,
                             {"--maxrregcount=32", "--ftz=true"});
  ASSERT_OK(cubin);
  EXPECT_TRUE(IsCubin(*cubin, "sine"));
  EXPECT_EQ(cubin->backend, "libNVVM and nvJitLink");
  const auto lto = Compile(Language::kNvvmIr, Sine(), ObjectFormat::kLtoir);
  ASSERT_OK(lto);
  const auto linked =
      Link(ObjectFormat::kLtoir, {lto->bytes}, ObjectFormat::kCubin);
  ASSERT_OK(linked);
  EXPECT_TRUE(IsCubin(*linked, "sine"));
}

TEST(CompilerTest, SeveralNvvmModulesBecomeOneProgram) {
  std::string callee = absl::StrReplaceAll(
      NvvmKernel("half", "fmul float %v, 5.000000e-01", ""),
      {{"define void @half(float* %p) {", "define float @half(float %v) {"},
       {"  %v = load float, float* %p\n", ""},
       {"  store float %s, float* %p\n  ret void", "  ret float %s"},
       {"(void (float*)*", "(float (float)*"},
       {"!0 = !{void (float*)* @half, !\"kernel\", i32 1}", "!0 = !{}"},
       {"!nvvm.annotations = !{!0}\n", ""}});
  ProgramSource program =
      Source(Language::kNvvmIr,
             NvvmKernel("caller", "call float @half(float %v)",
                        "declare float @half(float)"),
             ObjectFormat::kPtx);
  program.extra_sources.push_back({"callee", callee});
  const auto ptx = TheCompiler().Compile(program);
  ASSERT_OK(ptx);
  EXPECT_TRUE(absl::StrContains(ptx->bytes, "0f3F000000")) << ptx->bytes;
}

TEST(CompilerTest, BrokenNvvmIrIsAnErrorWithALog) {
  std::string bitcode;
  for (const std::string& file : TheCompiler().files()) {
    if (!absl::EndsWith(file, ".bc")) continue;
    std::ifstream stream(file, std::ios::binary);
    bitcode.assign(std::istreambuf_iterator<char>(stream), {});
  }
  ASSERT_FALSE(bitcode.empty());
  std::string flipped = bitcode;
  for (size_t i = 1000; i < flipped.size(); i += 997) flipped[i] ^= 0x55;
  for (const std::string& ir :
       {std::string("hello"), std::string("BC\xc0\xde garbage"),
        bitcode.substr(0, 20000), flipped}) {
    const absl::Status status =
        Compile(Language::kNvvmIr, ir, ObjectFormat::kPtx).status();
    EXPECT_THAT(status, StatusIs(kInvalid, "NVVM"));
    EXPECT_FALSE(LogOf(status).empty());
  }
  EXPECT_OK(Compile(Language::kNvvmIr, Sine(), ObjectFormat::kPtx));
}

TEST(CompilerTest, LanguagesTakeOnlyWhatIsTheirs) {
  ProgramSource program = Source(Language::kPtx, "x", ObjectFormat::kCubin);
  program.name_expressions = {"f<int>"};
  EXPECT_THAT(TheCompiler().Compile(program), StatusIs(kInvalid, "PTX"));
  program = Source(Language::kCudaCpp, kCallee, ObjectFormat::kPtx);
  program.extra_sources.push_back({"more", Sine()});
  EXPECT_THAT(TheCompiler().Compile(program), StatusIs(kInvalid, "NVVM IR"));
  EXPECT_THAT(Compile(Language::kPtx, "x", ObjectFormat::kLtoir),
              StatusIs(kInvalid, "LTO IR"));
}

TEST(CompilerTest, LinksEachFormatToACubin) {
  for (const ObjectFormat format :
       {ObjectFormat::kPtx, ObjectFormat::kCubin, ObjectFormat::kLtoir}) {
    const auto linked =
        Link(format, {Cpp(kCaller, format), Cpp(kCallee, format)},
             ObjectFormat::kCubin);
    ASSERT_OK(linked) << ObjectFormatName(format);
    EXPECT_TRUE(IsCubin(*linked, "caller"));
    EXPECT_EQ(linked->arch, "sm_90");
  }
}

TEST(CompilerTest, PtxAndCubinsComeWithTheirKernels) {
  const KernelParameters caller = {{"caller", {ParameterKind::kInteger}}};
  const std::vector<std::string> parts = {Cpp(kCaller, ObjectFormat::kPtx),
                                          Cpp(kCallee, ObjectFormat::kPtx)};
  const auto whole = Link(ObjectFormat::kPtx, parts, ObjectFormat::kPtx);
  ASSERT_OK(whole);
  for (const ObjectFormat target : {ObjectFormat::kPtx, ObjectFormat::kCubin}) {
    const auto cpp =
        Compile(Language::kCudaCpp, kCaller, target, {"-rdc=true"});
    ASSERT_OK(cpp);
    EXPECT_EQ(cpp->kernels, caller);
    const auto ptx = Compile(Language::kPtx, whole->bytes, target);
    ASSERT_OK(ptx);
    EXPECT_EQ(ptx->kernels, caller);
    const auto linked = Link(ObjectFormat::kPtx, parts, target);
    ASSERT_OK(linked);
    EXPECT_EQ(linked->kernels, caller);
    const auto nvvm = Compile(Language::kNvvmIr, Sine(), target);
    ASSERT_OK(nvvm);
    EXPECT_EQ(nvvm->kernels,
              (KernelParameters{{"sine", {ParameterKind::kInteger}}}));
  }
}

TEST(CompilerTest, KernelsOfLtoIrAreNotKnown) {
  const auto lto = Compile(Language::kCudaCpp, kCaller, ObjectFormat::kLtoir);
  ASSERT_OK(lto);
  EXPECT_TRUE(lto->kernels.empty());
  const auto linked =
      Link({{ObjectFormat::kLtoir, lto->bytes},
            {ObjectFormat::kPtx, Cpp(kCallee, ObjectFormat::kPtx)}},
           ObjectFormat::kCubin, {"-lto"});
  ASSERT_OK(linked);
  EXPECT_TRUE(linked->kernels.empty());
}

TEST(CompilerTest, SeveralPtxBecomeOneThatAssembles) {
  const std::string more =
      "extern \"C\" __device__ int printf(const char*, ...);"
      "extern __device__ int twice(int);"
      "static __device__ int hidden = 3;"
      "static __device__ __noinline__ int local(int x) { return x + hidden; }"
      "__device__ int (*pointer)(int) = local;"
      "extern \"C\" __global__ void other(int* p) {"
      "  __shared__ int s[4]; s[threadIdx.x] = *p; __syncthreads();"
      "  printf(\"%d\", *p); *p = local(twice(s[1])) + pointer(1); }";
  const auto ptx =
      Link(ObjectFormat::kPtx,
           {Cpp(kCaller, ObjectFormat::kPtx), Cpp(more, ObjectFormat::kPtx),
            Cpp(std::string("static __device__ int hidden = 4; "
                            "__device__ int* use() { return &hidden; } ") +
                    kCallee,
                ObjectFormat::kPtx)},
           ObjectFormat::kPtx);
  ASSERT_OK(ptx);
  EXPECT_EQ(ptx->backend, "Holdfast");
  const auto cubin = Compile(Language::kPtx, ptx->bytes, ObjectFormat::kCubin);
  ASSERT_OK(cubin) << ptx->bytes;
  EXPECT_TRUE(IsCubin(*cubin, "caller"));
  EXPECT_TRUE(IsCubin(*cubin, "other"));
}

TEST(CompilerTest, FatBinariesAreLinkedToPtxAsThePtxInThem) {
  const auto fatbin = [](const char* source) {
    const std::string ptx = Cpp(source, ObjectFormat::kPtx);
    return software::Fatbin(
        software::FatbinEntry(software::kPtxEntry, 75, ptx) +
        software::FatbinEntry(software::kPtxEntry, 200, "of a later device") +
        software::FatbinEntry(software::kMachineCodeEntry, 75, "cubin"));
  };
  const auto linked =
      Link(ObjectFormat::kFatbin, {fatbin(kCaller), fatbin(kCallee)},
           ObjectFormat::kPtx);
  ASSERT_OK(linked);
  EXPECT_TRUE(absl::StrContains(linked->bytes, "_Z5twicei"));
  const auto none = Link(ObjectFormat::kFatbin,
                         {software::Fatbin(software::FatbinEntry(
                             software::kMachineCodeEntry, 75, "cubin"))},
                         ObjectFormat::kPtx);
  EXPECT_THAT(none, StatusIs(kInvalid, "part"));
  EXPECT_EQ(GetErrorDetail(none.status())->result_name,
            "CUDA_ERROR_NO_BINARY_FOR_GPU");
}

TEST(CompilerTest, SymbolThatIsMissingIsNamed) {
  const std::string caller = Cpp(kCaller, ObjectFormat::kPtx);
  EXPECT_THAT(InChild([&] {
                return Link(ObjectFormat::kPtx, {caller}, ObjectFormat::kCubin)
                    .status();
              }),
              StatusIs(kInvalid, "_Z5twicei"));
}

TEST(CompilerTest, CubinOfAnotherArchitectureIsRefused) {
  const std::string cubin = Cpp(kCallee, ObjectFormat::kCubin);
  EXPECT_THAT(InChild([&] {
                return Link(ObjectFormat::kCubin, {cubin}, ObjectFormat::kCubin,
                            {}, "80")
                    .status();
              }),
              StatusIs(kInvalid, " for sm_"));
}

TEST(CompilerTest, TruncatedInputsAreRefusedBeforeTheLinkerSeesThem) {
  const std::string cubin = Cpp(kCallee, ObjectFormat::kCubin);
  for (size_t size :
       {size_t{0}, size_t{3}, size_t{63}, size_t{300}, cubin.size() - 64}) {
    EXPECT_THAT(Link(ObjectFormat::kCubin, {cubin.substr(0, size)},
                     ObjectFormat::kCubin),
                StatusIs(kInvalid, "part"))
        << size;
  }
  const std::string fatbin(
      "\x50\xed\x55\xba\x01\x00\x10\x00"
      "\xff\xff\x00\x00\x00\x00\x00\x00",
      16);
  EXPECT_THAT(Link(ObjectFormat::kFatbin, {fatbin}, ObjectFormat::kCubin),
              StatusIs(kInvalid, "truncated"));
}

TEST(CompilerTest, InputThatIsNotWhatItIsSaidToBeIsRefused) {
  for (const ObjectFormat format :
       {ObjectFormat::kPtx, ObjectFormat::kCubin, ObjectFormat::kLtoir,
        ObjectFormat::kFatbin, ObjectFormat::kObject, ObjectFormat::kLibrary}) {
    EXPECT_THAT(InChild([&] {
                  return Link(format, {"garbage garbage"}, ObjectFormat::kCubin)
                      .status();
                }),
                StatusIs(kInvalid, "part"))
        << ObjectFormatName(format);
  }
}

}  // namespace
}  // namespace holdfast::compile
