// SPDX-License-Identifier: Apache-2.0
//
// Every language to every target, and linking, with the toolkit's own
// libraries. No GPU: what a cubin holds is read from its bytes.
#include "core/compile/compiler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "core/base/error_detail.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::compile {
namespace {

using holdfast::testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

constexpr char kCaller[] =
    "extern __device__ int twice(int);"
    "extern \"C\" __global__ void caller(int* p) { *p = twice(*p); }";
constexpr char kCallee[] = "__device__ int twice(int x) { return 2 * x; }";

constexpr char kSine[] = R"(
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
@llvm.used = appending global [1 x i8*] [i8* bitcast (void (float*)* @sine to i8*)], section "llvm.metadata"
declare float @__nv_sinf(float)
define void @sine(float* %p) {
  %v = load float, float* %p
  %s = call float @__nv_sinf(float %v)
  store float %s, float* %p
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (float*)* @sine, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
)";

// What `link` says in a process of its own: after a failure, nvJitLink 13.0
// takes wrong links for right ones, or crashes. Code and message, log included.
absl::Status InChild(const std::function<absl::Status()>& link) {
  int ends[2];
  if (pipe(ends) != 0) return absl::InternalError("pipe");
  const pid_t child = fork();
  if (child == 0) {
    const absl::Status status = link();
    const std::string text =
        absl::StrCat(static_cast<int>(status.code()), " ", status.message());
    const bool sent = write(ends[1], text.data(), text.size()) > 0;
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  std::string text(16384, '\0');
  const ssize_t size = read(ends[0], text.data(), text.size());
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0 || size <= 0) return absl::AbortedError("the child crashed");
  text.resize(static_cast<size_t>(size));
  return absl::Status(static_cast<absl::StatusCode>(std::stoi(text)),
                      text.substr(text.find(' ') + 1));
}

class CompilerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    compiler_ = Compiler::Load({}).release();
    ASSERT_OK(compiler_->status());
  }

  static ProgramSource Source(Language language, const std::string& text,
                              ObjectFormat target,
                              std::vector<std::string> options = {}) {
    ProgramSource program;
    program.name = "test";
    program.source = text;
    program.language = language;
    program.target = target;
    program.arch = "90";
    program.options = std::move(options);
    return program;
  }

  static absl::StatusOr<ObjectCode> Compile(
      Language language, const std::string& text, ObjectFormat target,
      std::vector<std::string> options = {}) {
    return compiler_->Compile(
        Source(language, text, target, std::move(options)));
  }

  static std::string Cpp(const std::string& text, ObjectFormat target) {
    auto object = Compile(Language::kCudaCpp, text, target, {"-rdc=true"});
    EXPECT_OK(object);
    return object.ok() ? object->bytes : "";
  }

  static absl::StatusOr<ObjectCode> Link(ObjectFormat format,
                                         const std::vector<std::string>& parts,
                                         ObjectFormat target,
                                         std::vector<std::string> options = {},
                                         const std::string& arch = "90") {
    LinkSource source;
    for (const std::string& part : parts) {
      source.inputs.push_back({"part", format, part});
    }
    source.target = target;
    source.arch = arch;
    source.options = std::move(options);
    return compiler_->Link(source);
  }

  static std::string LogOf(const absl::Status& status) {
    const auto detail = GetErrorDetail(status);
    return detail.has_value() ? detail->log : "";
  }

  static bool IsCubin(const ObjectCode& object, absl::string_view kernel) {
    return absl::StartsWith(object.bytes,
                            "\x7f"
                            "ELF") &&
           absl::StrContains(object.bytes, absl::StrCat(".text.", kernel));
  }

  static inline const Compiler* compiler_ = nullptr;
};

// nvJitLink 13.0 says so on stderr only, and calls it a success; in a process
// that has linked before it crashes, so this comes first.
TEST_F(CompilerTest, SymbolThatIsDefinedTwiceIsAnError) {
  const std::string callee = Cpp(kCallee, ObjectFormat::kPtx);
  EXPECT_THAT(InChild([&] {
                return Link(ObjectFormat::kPtx, {callee, callee},
                            ObjectFormat::kCubin)
                    .status();
              }),
              StatusIs(kInvalid, "_Z5twicei"));
}

TEST_F(CompilerTest, TellsWhatItConsistsOf) {
  EXPECT_TRUE(absl::StrContains(compiler_->version(), "NVRTC 1"));
  EXPECT_TRUE(absl::StrContains(compiler_->version(), "nvJitLink 1"));
  EXPECT_TRUE(absl::StrContains(compiler_->version(), "libNVVM "));
  EXPECT_EQ(compiler_->files().size(), 4);
  for (const std::string& file : compiler_->files()) {
    EXPECT_TRUE(std::ifstream(file).good()) << file;
  }
}

TEST_F(CompilerTest, ToolkitThatIsNotThereIsUnavailableByName) {
  const auto none = Compiler::Load({.cuda_home = "/nonexistent"});
  EXPECT_THAT(none->status(),
              StatusIs(absl::StatusCode::kUnavailable, "/nonexistent/lib64"));
  EXPECT_THAT(
      none->Compile(Source(Language::kNvvmIr, kSine, ObjectFormat::kPtx)),
      StatusIs(absl::StatusCode::kUnavailable, "libNVVM"));
  EXPECT_THAT(none->Link({}),
              StatusIs(absl::StatusCode::kUnavailable, "nvJitLink"));
}

TEST_F(CompilerTest, PtxBecomesACubin) {
  const std::string ptx = Cpp(
      "extern \"C\" __global__ void k(int* p) { *p = 1; }", ObjectFormat::kPtx);
  const auto cubin = Compile(Language::kPtx, ptx, ObjectFormat::kCubin);
  ASSERT_OK(cubin);
  EXPECT_TRUE(IsCubin(*cubin, "k"));
  EXPECT_EQ(cubin->backend, "nvJitLink");
  EXPECT_EQ(cubin->arch, "sm_90");
}

TEST_F(CompilerTest, PtxToPtxIsCheckedAndUnchanged) {
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

TEST_F(CompilerTest, PtxOfANewerVersionIsAnErrorWithBothVersions) {
  EXPECT_THAT(InChild([] {
                return Compile(Language::kPtx,
                               ".version 99.9\n.target sm_90\n"
                               ".address_size 64\n",
                               ObjectFormat::kCubin)
                    .status();
              }),
              StatusIs(kInvalid, "99.9"));
}

TEST_F(CompilerTest, NvvmIrBecomesPtxWithLibdevice) {
  const auto ptx = Compile(Language::kNvvmIr, kSine, ObjectFormat::kPtx);
  ASSERT_OK(ptx);
  EXPECT_TRUE(absl::StrContains(ptx->bytes, ".entry sine"));
  // The function's body is there, not a reference to it.
  EXPECT_FALSE(absl::StrContains(ptx->bytes, ".extern")) << ptx->bytes;
  EXPECT_EQ(ptx->backend, "libNVVM");
  EXPECT_EQ(ptx->arch, "compute_90");
}

TEST_F(CompilerTest, NvvmIrBecomesACubinAndLtoIr) {
  const auto cubin = Compile(Language::kNvvmIr, kSine, ObjectFormat::kCubin,
                             {"--maxrregcount=32", "--ftz=true"});
  ASSERT_OK(cubin);
  EXPECT_TRUE(IsCubin(*cubin, "sine"));
  EXPECT_EQ(cubin->backend, "libNVVM and nvJitLink");
  const auto lto = Compile(Language::kNvvmIr, kSine, ObjectFormat::kLtoir);
  ASSERT_OK(lto);
  const auto linked =
      Link(ObjectFormat::kLtoir, {lto->bytes}, ObjectFormat::kCubin);
  ASSERT_OK(linked);
  EXPECT_TRUE(IsCubin(*linked, "sine"));
}

TEST_F(CompilerTest, SeveralNvvmModulesBecomeOneProgram) {
  std::string callee = absl::StrReplaceAll(
      kSine,
      {{"declare float @__nv_sinf(float)", ""},
       {"@llvm.used =", "; "},
       {"define void @sine(float* %p) {", "define float @half(float %v) {"},
       {"  %v = load float, float* %p\n", ""},
       {"  %s = call float @__nv_sinf(float %v)\n",
        "  %s = fmul float %v, 5.000000e-01\n"},
       {"  store float %s, float* %p\n", ""},
       {"ret void", "ret float %s"}});
  callee.erase(
      callee.find("!nvvm.annotations"),
      callee.find("!nvvmir.version") - callee.find("!nvvm.annotations"));
  callee = absl::StrReplaceAll(
      callee, {{"!0 = !{void (float*)* @sine, !\"kernel\", i32 1}\n", ""}});
  ProgramSource program = Source(
      Language::kNvvmIr, absl::StrReplaceAll(kSine, {{"__nv_sinf", "half"}}),
      ObjectFormat::kPtx);
  program.extra_sources.push_back({"callee", callee});
  const auto ptx = compiler_->Compile(program);
  ASSERT_OK(ptx);
  EXPECT_TRUE(absl::StrContains(ptx->bytes, "0f3F000000")) << ptx->bytes;
}

TEST_F(CompilerTest, BrokenNvvmIrIsAnErrorWithALog) {
  std::string bitcode;
  for (const std::string& file : compiler_->files()) {
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
  EXPECT_OK(Compile(Language::kNvvmIr, kSine, ObjectFormat::kPtx));
}

TEST_F(CompilerTest, LanguagesTakeOnlyWhatIsTheirs) {
  ProgramSource program = Source(Language::kPtx, "x", ObjectFormat::kCubin);
  program.name_expressions = {"f<int>"};
  EXPECT_THAT(compiler_->Compile(program), StatusIs(kInvalid, "PTX"));
  program = Source(Language::kCudaCpp, kCallee, ObjectFormat::kPtx);
  program.extra_sources.push_back({"more", kSine});
  EXPECT_THAT(compiler_->Compile(program), StatusIs(kInvalid, "NVVM IR"));
  EXPECT_THAT(Compile(Language::kPtx, "x", ObjectFormat::kLtoir),
              StatusIs(kInvalid, "LTO IR"));
}

TEST_F(CompilerTest, LinksEachFormatToACubin) {
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

TEST_F(CompilerTest, LinkTimeOptimizationInlinesAcrossObjects) {
  const auto ptx = Link(
      ObjectFormat::kLtoir,
      {Cpp(kCaller, ObjectFormat::kLtoir), Cpp(kCallee, ObjectFormat::kLtoir)},
      ObjectFormat::kPtx);
  ASSERT_OK(ptx);
  EXPECT_TRUE(absl::StrContains(ptx->bytes, ".entry caller"));
  EXPECT_FALSE(absl::StrContains(ptx->bytes, "call.uni")) << ptx->bytes;
}

TEST_F(CompilerTest, SeveralPtxBecomeOneThatAssembles) {
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

TEST_F(CompilerTest, SymbolThatIsMissingIsNamed) {
  const std::string caller = Cpp(kCaller, ObjectFormat::kPtx);
  EXPECT_THAT(InChild([&] {
                return Link(ObjectFormat::kPtx, {caller}, ObjectFormat::kCubin)
                    .status();
              }),
              StatusIs(kInvalid, "_Z5twicei"));
}

TEST_F(CompilerTest, CubinOfAnotherArchitectureIsRefused) {
  const std::string cubin = Cpp(kCallee, ObjectFormat::kCubin);
  EXPECT_THAT(InChild([&] {
                return Link(ObjectFormat::kCubin, {cubin}, ObjectFormat::kCubin,
                            {}, "80")
                    .status();
              }),
              StatusIs(kInvalid, "for this architecture"));
}

TEST_F(CompilerTest, TruncatedInputsAreRefusedBeforeTheLinkerSeesThem) {
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

TEST_F(CompilerTest, InputThatIsNotWhatItIsSaidToBeIsRefused) {
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

TEST_F(CompilerTest, TargetsThatTheLinkerCannotMakeAreNamed) {
  EXPECT_THAT(Link(ObjectFormat::kPtx, {Cpp(kCallee, ObjectFormat::kPtx)},
                   ObjectFormat::kLtoir),
              StatusIs(absl::StatusCode::kUnimplemented, "LTO IR"));
}

}  // namespace
}  // namespace holdfast::compile
