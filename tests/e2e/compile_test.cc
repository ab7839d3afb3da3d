// SPDX-License-Identifier: Apache-2.0
//
// holdfast compile, link and kernels, as a shell runs them, without a GPU.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/file.h"
#include "client/cli/npy.h"
#include "core/base/sanitizer.h"
#include "tests/e2e/daemon_process.h"
#include "tests/testing/nvvm_kernel.h"

namespace holdfast::e2e {
namespace {

constexpr char kTemplates[] = R"(
#include "factor.h"
template <typename T>
__global__ void scale(T* x, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = FACTOR * x[i];
}
)";

constexpr char kCaller[] = R"(
extern __device__ int twice(int);
static __device__ int hidden = 100;
__device__ int offset = 5;
extern "C" __global__ void caller(int* x, unsigned n) {
  unsigned i = threadIdx.x;
  if (i < n) x[i] = twice(x[i]) + hidden + offset;
}
)";

constexpr char kCallee[] = R"(
static __device__ int hidden = 1000;
__device__ int* address() { return &hidden; }
__device__ int twice(int x) { return 2 * x + *address(); }
)";

class CompileTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    daemon_ = new DaemonProcess();
    Write("scale.cu", kTemplates);
    Write("factor.h", "#define FACTOR 3\n");
    Write("caller.cu", kCaller);
    Write("callee.cu", kCallee);
    Write("cosine.ll",
          testing::NvvmKernel("cosine", "call float @__nv_cosf(float %v)",
                              "declare float @__nv_cosf(float)"));
  }
  static void TearDownTestSuite() { delete daemon_; }

  static std::string Path(const std::string& name) {
    return daemon_->directory() + "/" + name;
  }
  static void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(cli::WriteFile(Path(name), text).ok());
  }
  static std::string Read(const std::string& name) {
    return cli::ReadFile(Path(name)).value_or("");
  }

  static Outcome Holdfast(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ProgramPath("HOLDFAST_CLI"));
    return RunProgram(arguments, {{"HOLDFAST_ADDRESS", daemon_->address()}});
  }
  // The command line for /bin/sh, in the directory of the files; "holdfast" is
  // the program.
  static Outcome Shell(const std::string& line) {
    const std::string program = ProgramPath("HOLDFAST_CLI");
    return RunProgram(
        {"/bin/sh", "-c",
         absl::StrCat(
             "holdfast() { \"$PROGRAM\" \"$@\"; }; PROGRAM=$(realpath ",
             program, "); cd ", daemon_->directory(), "; ", line)},
        {{"HOLDFAST_ADDRESS", daemon_->address()}});
  }

  static void ExpectOk(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  }
  static void ExpectSays(const std::string& text, const std::string& part) {
    EXPECT_TRUE(absl::StrContains(text, part)) << text;
  }
  static void ExpectFailure(const Outcome& outcome, const std::string& text) {
    EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
    ExpectSays(outcome.err, text);
  }
  static void ExpectUsageError(const Outcome& outcome,
                               const std::string& text) {
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    ExpectSays(outcome.err, text);
  }

  // The kernel's results for these numbers.
  static std::vector<int> Run(const std::string& file,
                              const std::string& kernel,
                              const std::vector<int>& values) {
    const cli::Array array = {
        cli::ElementType::kI32,
        {values.size()},
        std::string(reinterpret_cast<const char*>(values.data()),
                    values.size() * sizeof(int))};
    EXPECT_TRUE(cli::WriteNpy(Path("x.npy"), array).ok());
    ExpectOk(Holdfast({"run", Path(file), "--kernel", kernel, "--grid", "1",
                       "--block", "32",
                       "inout:" + Path("x.npy") + ":" + Path("y.npy"),
                       absl::StrCat("u32:", values.size())}));
    const auto result = cli::ReadNpy(Path("y.npy"));
    if (!result.ok()) return {};
    std::vector<int> numbers(result->bytes.size() / sizeof(int));
    std::memcpy(numbers.data(), result->bytes.data(), result->bytes.size());
    return numbers;
  }

  static inline DaemonProcess* daemon_ = nullptr;
};

TEST_F(CompileTest, TemplatesBecomeEveryTargetWithTheirNames) {
  for (const char* target : {"ptx", "cubin", "ltoir"}) {
    const Outcome outcome = Shell(absl::StrCat(
        "holdfast compile scale.cu -o scale.", target,
        " --header factor.h=factor.h --name 'scale<int>' --name 'scale<float>'"
        " --arch sm_90 --json"));
    ExpectOk(outcome);
    ExpectSays(outcome.out, "\"scale<int>\": \"_Z5scaleIiEvPT_j\"");
    ExpectSays(outcome.out, "\"scale<float>\": \"_Z5scaleIfEvPT_j\"");
    ExpectSays(outcome.out, absl::StrCat("\"format\": \"", target, "\""));
    ExpectSays(outcome.out, "\"compiler\": \"NVRTC 1");
    ExpectSays(outcome.out, "\"cache_hit\": false");
    EXPECT_FALSE(Read(absl::StrCat("scale.", target)).empty());
  }
  EXPECT_EQ(Run("scale.ptx", "_Z5scaleIiEvPT_j", {1, 2}),
            (std::vector<int>{3, 6}));
}

TEST_F(CompileTest, SecondCompileIsAHitUnlessAHeaderChanged) {
  const std::string line =
      "holdfast compile scale.cu --target ptx --header factor.h=h.h "
      "--name 'scale<double>' --json";
  Write("h.h", "#define FACTOR 4\n");
  ExpectSays(Shell(line).out, "\"cache_hit\": false");
  ExpectSays(Shell(line).out, "\"cache_hit\": true");
  Write("h.h", "#define FACTOR 5\n");
  ExpectSays(Shell(line).out, "\"cache_hit\": false");
}

TEST_F(CompileTest, TargetIsWhatTheDeviceRunsUnlessSaid) {
  const Outcome outcome = Shell("holdfast compile callee.cu --json");
  ExpectOk(outcome);
  ExpectSays(outcome.out, "\"format\": \"ptx\"");
  ExpectSays(Shell("holdfast compile callee.cu --target auto --json").out,
             "\"format\": \"ptx\"");
}

TEST_F(CompileTest, StandardInputToStandardOutput) {
  const Outcome ptx = Shell("holdfast compile - -o - --target ptx <callee.cu");
  ExpectOk(ptx);
  ExpectSays(ptx.out, ".version");
  ExpectSays(ptx.err, "by NVRTC");
  ExpectOk(
      Shell("holdfast compile callee.cu -o piped.ltoir -rdc=true && "
            "holdfast compile caller.cu -o - --target ltoir -rdc=true | "
            "holdfast link ltoir:- piped.ltoir -o piped.cubin --arch 90"));
  ExpectSays(Read("piped.cubin"), ".text.caller");
}

TEST_F(CompileTest, NvvmIrBecomesPtxThatRunsAndACubin) {
  ExpectOk(Shell("holdfast compile cosine.ll -o cosine.ptx"));
  const float zero = 0;
  ASSERT_TRUE(cli::WriteNpy(Path("z.npy"),
                            {cli::ElementType::kF32,
                             {1},
                             std::string(reinterpret_cast<const char*>(&zero),
                                         sizeof zero)})
                  .ok());
  ExpectOk(Holdfast({"run", Path("cosine.ptx"), "--kernel", "cosine", "--grid",
                     "1", "--block", "1",
                     "inout:" + Path("z.npy") + ":" + Path("one.npy")}));
  const auto one = cli::ReadNpy(Path("one.npy"));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->bytes, std::string("\0\0\x80\x3f", 4));
  const Outcome cubin = Shell(
      "holdfast compile cosine.ll -o cosine.cubin --arch 90 "
      "--maxrregcount=32 --ftz=true --json");
  ExpectOk(cubin);
  ExpectSays(cubin.out, "libNVVM and nvJitLink");
}

TEST_F(CompileTest, PtxBecomesACubin) {
  const Outcome outcome = Shell(
      "holdfast compile callee.cu -o callee.ptx --arch compute_90 -rdc=true && "
      "holdfast compile callee.ptx -o callee.cubin --arch sm_90 --json");
  ExpectOk(outcome);
  ExpectSays(outcome.out, "\"compiler\": \"nvJitLink 1");
  EXPECT_TRUE(absl::StartsWith(Read("callee.cubin"),
                               "\x7f"
                               "ELF"));
}

TEST_F(CompileTest, TwoLtoIrObjectsBecomeACubin) {
  ExpectOk(Shell("holdfast compile caller.cu -o caller.ltoir -rdc=true"));
  ExpectOk(Shell("holdfast compile callee.cu -o callee.ltoir -rdc=true"));
  const std::string link =
      "holdfast link caller.ltoir callee.ltoir -o linked.cubin --arch sm_90 "
      "--kernels-used=caller --json";
  const Outcome outcome = Shell(link);
  ExpectOk(outcome);
  ExpectSays(outcome.out, "\"cache_hit\": false");
  ExpectSays(outcome.out, "\"arch\": \"sm_90\"");
  ExpectSays(Read("linked.cubin"), ".text.caller");
  ExpectSays(Shell(link).out, "\"cache_hit\": true");
}

TEST_F(CompileTest, SeveralPtxRunAsOneOnTheSoftwareDevice) {
  ExpectOk(Shell("holdfast compile caller.cu -o a.ptx -rdc=true"));
  ExpectOk(Shell("holdfast compile callee.cu -o b.ptx -rdc=true"));
  const Outcome outcome = Shell("holdfast link a.ptx b.ptx -o ab.ptx");
  ExpectOk(outcome);
  ExpectSays(outcome.out, "by Holdfast");
  EXPECT_EQ(Run("ab.ptx", "caller", {1, 2}), (std::vector<int>{1107, 1109}));
  ExpectOk(Shell("holdfast compile caller.cu -o a.ltoir -rdc=true"));
  ExpectOk(Shell("holdfast compile callee.cu -o b.ltoir -rdc=true"));
  ExpectOk(Shell("holdfast link a.ltoir b.ltoir -o lto.ptx"));
  EXPECT_EQ(Run("lto.ptx", "caller", {1, 2}), (std::vector<int>{1107, 1109}));
}

TEST_F(CompileTest, LinkedLtoIrAndMixturesRunOnTheSoftwareDevice) {
  ExpectOk(Shell("holdfast compile caller.cu -o m.ltoir -rdc=true"));
  ExpectOk(Shell("holdfast compile callee.cu -o n.ltoir -rdc=true"));
  ExpectOk(Shell("holdfast compile callee.cu -o n.ptx -rdc=true"));
  ExpectOk(Shell("holdfast compile caller.cu -o m.ptx -rdc=true"));
  const std::vector<int> expected = {1107, 1109};
  ExpectOk(Shell("holdfast link m.ltoir n.ltoir -o mn.ltoir"));
  ExpectOk(Shell("holdfast link mn.ltoir -o mn.ptx"));
  EXPECT_EQ(Run("mn.ptx", "caller", {1, 2}), expected);
  ExpectOk(Shell("holdfast link m.ltoir n.ptx -o lp.ptx"));
  EXPECT_EQ(Run("lp.ptx", "caller", {1, 2}), expected);
  const Outcome mixed = Shell("holdfast link m.ptx n.ltoir -o pl.ptx");
  ExpectOk(mixed);
  ExpectSays(mixed.out, "by nvJitLink and Holdfast");
  EXPECT_EQ(Run("pl.ptx", "caller", {1, 2}), expected);
  ExpectFailure(Shell("holdfast link m.ptx n.ltoir -o pl.ltoir"),
                "\"m.ptx\" is PTX");
}

TEST_F(CompileTest, LinkErrorsHaveTheLog) {
  ExpectOk(Shell("holdfast compile caller.cu -o alone.ptx -rdc=true"));
  ExpectFailure(Shell("holdfast link alone.ptx -o alone.cubin"), "_Z5twicei");
  ExpectFailure(Shell("holdfast link alone.ptx -o joined.ptx"), "_Z5twicei");
  ExpectFailure(Shell("holdfast link alone.ptx -o x.cubin --ftz=true"),
                "nvJitLink");
  ExpectUsageError(Shell("holdfast link scale.cu -o x.cubin"), "format");
  ExpectUsageError(Shell("holdfast link sha256:12 -o x.cubin"), "64");
}

TEST_F(CompileTest, StoredObjectsAreLinkedByTheirHash) {
  const Outcome outcome = Shell(
      "a=$(holdfast compile caller.cu --target ltoir -rdc=true | cut -d: -f2)\n"
      "b=$(holdfast compile callee.cu --target ltoir -rdc=true | cut -d: -f2)\n"
      "holdfast link sha256:$a sha256:$b -o hashes.cubin --arch 90");
  ExpectOk(outcome);
  ExpectSays(Read("hashes.cubin"), ".text.caller");
}

TEST_F(CompileTest, HeadersOfTheClientsFoldersGoWithTheSource) {
  ExpectOk(
      Shell("mkdir -p tiles/more && "
            "echo '#include \"size.h\"' >tiles/more/tile.h && "
            "echo '#define SIZE 40' >tiles/more/size.h && "
            "echo '#define BEFORE 200' >before.h"));
  Write("tiled.cu", R"(
#include "factor.h"
#include <more/tile.h>
extern "C" __global__ void tiled(int* x, unsigned n) {
  if (threadIdx.x < n) x[threadIdx.x] = SIZE + FACTOR + BEFORE;
}
)");
  const std::string flags = " -Itiles --pre-include before.h";
  ExpectOk(Shell("holdfast compile tiled.cu -o tiled.ptx" + flags));
  EXPECT_EQ(Run("tiled.ptx", "tiled", {1}), (std::vector<int>{243}));
  ExpectOk(
      Shell("holdfast run tiled.cu --kernel tiled --grid 1 --block 1 "
            "inout:x.npy:y.npy u32:1 -I tiles --header before.h "
            "--pre-include before.h"));
  ExpectFailure(Shell("holdfast compile tiled.cu -o x.ptx"), "more/tile.h");
  ExpectUsageError(
      Shell("holdfast run tiled.ptx --kernel tiled --grid 1 --block 1"
            " -I tiles"),
      "-I is of no use");
  ExpectFailure(Shell("holdfast compile tiled.cu -arch=sm_80"), "--arch");
}

TEST_F(CompileTest, ACompilersLogIsShownOnce) {
  Write("once.cu", "int f() { return nothing; }\n");
  const Outcome outcome = Shell("holdfast compile once.cu -o once.ptx");
  ExpectFailure(outcome, "\"nothing\" is undefined");
  EXPECT_EQ(outcome.err.find("is undefined"), outcome.err.rfind("is undefined"))
      << outcome.err;
}

TEST_F(CompileTest, NamesThatTheObjectDoesNotHaveAreExplained) {
  const std::string run = "holdfast run scale.cu --grid 1 --block 1 --kernel ";
  ExpectFailure(Shell(run + "scale"),
                "\"scale\" is a template: name an instance, scale<float>");
}

TEST_F(CompileTest, FilesOfTheServerAreNotIncluded) {
  Write("steal.cu", "#include \"/etc/passwd\"\n");
  const Outcome outcome = Shell("holdfast compile steal.cu -o steal.ptx");
  ExpectFailure(outcome, "cannot open source file \"/etc/passwd\"");
  EXPECT_FALSE(absl::StrContains(outcome.err, "root:")) << outcome.err;
}

TEST_F(CompileTest, TextThatIsNotUtf8IsNamedWithItsField) {
  const Outcome option =
      Shell("holdfast compile callee.cu -DX=$(printf '\\377')");
  ExpectFailure(option, "\"-DX=\\xff\" in options is not UTF-8");
  ExpectFailure(Shell("holdfast compile callee.cu --name $(printf 'k\\377')"),
                "\"k\\xff\" in name_expressions is not UTF-8");
  ExpectFailure(
      Shell("holdfast compile callee.cu --header $(printf 'h\\377=callee.cu')"),
      "\"h\\xff\" in headers.key is not UTF-8");
  ExpectFailure(Shell("holdfast compile callee.cu --arch $(printf '9\\377')"),
                "in arch is not UTF-8");
  ExpectFailure(Shell("f=$(printf 'f\\377.cu'); cp callee.cu $f; "
                      "holdfast compile $f"),
                "\"f\\xff.cu\" in name is not UTF-8");
  ExpectFailure(Shell("f=$(printf 'f\\377.ptx'); cp callee.cu $f; "
                      "holdfast link $f -o x.cubin --arch $(printf '\\377')"),
                "is not UTF-8");
}

// Comments may be in any encoding; what is wrong in the code has a log.
TEST_F(CompileTest, SourcesAndHeadersMayHaveAnyBytes) {
  Write("latin.h", "#define FACTOR 3  // caf\xe9\n");
  Write("latin.cu",
        "// caf\xe9\n#include \"latin.h\"\n__device__ int x = FACTOR;");
  ExpectOk(Shell("holdfast compile latin.cu -o latin.ptx --header latin.h"));
  Write("broken.cu", "__global__ void k\xff() {}");
  ExpectFailure(Shell("holdfast compile broken.cu -o x.ptx"), "broken.cu(1)");
}

TEST_F(CompileTest, CompilerThatCrashesIsReportedAndReplaced) {
  if (kSanitized) GTEST_SKIP() << "libNVVM gets through";
  // As deep as a source may be long: with 200'000 libNVVM once got through.
  const int depth = 1'500'000;
  std::string ir = "@x = global ";
  for (int i = 0; i < depth; ++i) ir += "[1 x ";
  Write("deep.ll", ir + "i32" + std::string(depth, ']') + " zeroinitializer");
  // It gets through now and then, and tells that the IR has no version.
  Outcome crash = Shell("holdfast compile deep.ll -o x.ptx");
  for (int again = 0; again < 4; ++again) {
    if (!absl::StrContains(crash.err, "IR_VERSION_MISMATCH")) break;
    crash = Shell("holdfast compile deep.ll -o x.ptx");
  }
  ExpectFailure(crash,
                "compiling \"deep.ll\" (NVVM IR to PTX): the compiler "
                "crashed: its process was killed by signal 11 (SIGSEGV)");
  ExpectOk(Shell("holdfast compile cosine.ll -o x.ptx --arch 89"));
}

TEST_F(CompileTest, OptionsThatCannotBeHonouredAreNamed) {
  ExpectFailure(Shell("holdfast compile cosine.ll -o x.ptx --std=c++17"),
                "\"--std=c++17\" cannot be honoured by libNVVM");
  ExpectUsageError(Shell("holdfast compile scale.cu -o x.txt"), "--target");
  ExpectUsageError(Shell("holdfast compile scale.cu --target elf"), "--target");
}

TEST_F(CompileTest, KernelsAreListedWithParametersAndAttributes) {
  ExpectOk(
      Shell("holdfast compile scale.cu -o k.ptx --header factor.h "
            "--name 'scale<int>'"));
  const Outcome text = Shell("holdfast kernels k.ptx");
  ExpectOk(text);
  ExpectSays(text.out,
             "_Z5scaleIiEvPT_j\n  parameter of 8 bytes at 0\n"
             "  parameter of 4 bytes at 8\n");
  ExpectSays(text.out, "max_threads_per_block");
  const Outcome json = Shell("holdfast kernels k.ptx --json");
  ExpectSays(json.out, "\"max_dynamic_shared_size_bytes\": ");
  ExpectSays(json.out, "\"min_grid\": ");
}

}  // namespace
}  // namespace holdfast::e2e
