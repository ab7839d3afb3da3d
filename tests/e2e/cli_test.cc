// SPDX-License-Identifier: Apache-2.0
//
// The command line, as a shell runs it.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/file.h"
#include "client/cli/npy.h"
#include "client/cpp/session.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {
namespace {

// Not a kernel of this tree: a matrix times a vector, in doubles.
constexpr char kSource[] = R"(
template <typename T>
__global__ void multiply(const T* matrix, const T* vector, T* result,
                         unsigned rows, unsigned columns) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  T sum = 0;
  for (unsigned i = 0; i < columns; ++i) {
    sum += matrix[row * columns + i] * vector[i];
  }
  result[row] = sum;
}
extern "C" __global__ void add_one(int* data, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}
extern "C" __global__ void stray(int* data) {
  data[threadIdx.x == 37 ? 1u << 30 : threadIdx.x] = 1;
}
extern "C" __global__ void greet(double value) {
  printf("thread %d has %g\n", threadIdx.x, value);
}
)";

template <typename T>
cli::Array MakeArray(cli::ElementType type, std::vector<uint64_t> shape,
                     const std::vector<T>& values) {
  return {type, std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()),
                      values.size() * sizeof(T))};
}

template <typename T>
std::vector<T> Values(const cli::Array& array) {
  std::vector<T> values(array.bytes.size() / sizeof(T));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

class CliTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    daemon_ = new DaemonProcess();
    ASSERT_TRUE(cli::WriteFile(Path("kernels.cu"), kSource).ok());
  }
  static void TearDownTestSuite() { delete daemon_; }

  static std::string Path(const std::string& name) {
    return daemon_->directory() + "/" + name;
  }

  static Outcome Holdfast(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ProgramPath("HOLDFAST_CLI"));
    return RunProgram(arguments, {{"HOLDFAST_ADDRESS", daemon_->address()}});
  }

  static void ExpectFailure(const Outcome& outcome, int exit_code,
                            const std::string& text) {
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_TRUE(absl::StrContains(outcome.err, text)) << outcome.err;
  }

  static DaemonProcess* daemon_;
};

DaemonProcess* CliTest::daemon_ = nullptr;

TEST_F(CliTest, CollectionsAreSharedKeptPinnedAndWatched) {
  ASSERT_TRUE(
      cli::WriteNpy(Path("weights.npy"),
                    MakeArray<float>(cli::ElementType::kF32, {3}, {1, 2, 3}))
          .ok());
  const auto collection = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "collection");
    return Holdfast(arguments);
  };
  const auto load = [&] {
    return collection({"load", "model", Path("weights.npy")});
  };
  const auto expect_show = [&](const std::string& text) {
    const Outcome shown = collection({"show", "model"});
    EXPECT_TRUE(absl::StrContains(shown.out, text)) << shown.out << shown.err;
  };
  EXPECT_EQ(load().out, "model version 1\n");
  Process watch({ProgramPath("HOLDFAST_CLI"), "collection", "watch", "model",
                 "--address=" + daemon_->address()});
  const auto expect_told = [&](const std::string& change) {
    const std::string line = watch.ReadLine();
    EXPECT_TRUE(absl::StartsWith(line, change + " of uid ")) << line;
  };
  expect_told("present    model version 1");
  EXPECT_EQ(load().out, "model version 2\n");
  expect_told("committed  model version 2");
  expect_told("retired    model version 1");

  EXPECT_EQ(collection({"share", "model", "--everybody"}).exit_code, 0);
  expect_show("visible to everybody");
  EXPECT_EQ(collection({"share", "model", "--with", "uid 1"}).exit_code, 0);
  expect_show("visible to uid 1");
  EXPECT_EQ(
      collection({"keep", "model", "2", "--until-unreferenced"}).exit_code, 0);
  const Outcome kept = collection({"show", "model", "--json"});
  for (const char* const text :
       {"\"keep\": 2", "\"until_unreferenced\": true"}) {
    EXPECT_TRUE(absl::StrContains(kept.out, text)) << kept.out;
  }

  EXPECT_EQ(collection({"pin", "model"}).exit_code, 0);
  expect_show("; pinned");
  const Outcome refused = collection({"rm", "model"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_TRUE(absl::StrContains(refused.err, "pinned versions: 2"))
      << refused.err;
  // A reader's end does not end a pinned version.
  EXPECT_TRUE(absl::StrContains(
      collection({"verify", "model", Path("weights.npy")}).out,
      "1 arrays are as in the files"));
  // It was its last one: unpinned, the version goes.
  EXPECT_EQ(collection({"unpin", "model"}).exit_code, 0);
  expect_told("retired    model version 2");
  EXPECT_NE(collection({"verify", "model"}).exit_code, 0);
  EXPECT_EQ(load().out, "model version 1\n");
  expect_told("committed  model version 1");
  EXPECT_EQ(collection({"rm", "model"}).exit_code, 0);
  expect_told("deleted    model version 1");
  EXPECT_NE(collection({"show", "model"}).exit_code, 0);
  watch.Signal(SIGTERM);
}

TEST_F(CliTest, RunsAnyKernelOnNumpyFiles) {
  const std::vector<double> matrix = {1, 2, 3, 4, 5, 6}, vector = {1, 10, 100};
  ASSERT_TRUE(cli::WriteNpy(Path("m.npy"),
                            MakeArray(cli::ElementType::kF64, {2, 3}, matrix))
                  .ok());
  ASSERT_TRUE(cli::WriteNpy(Path("v.npy"),
                            MakeArray(cli::ElementType::kF64, {3}, vector))
                  .ok());
  const Outcome outcome =
      Holdfast({"run", Path("kernels.cu"), "--kernel", "multiply<double>",
                "--grid", "1", "--block", "32", "--repeat", "3", "--std=c++17",
                "in:" + Path("m.npy"), "in:" + Path("v.npy"),
                "out:" + Path("r.npy") + ":f64[2,1]", "u32:2", "u32:3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, "kernel")) << outcome.out;
  EXPECT_TRUE(absl::StrContains(outcome.out, "total")) << outcome.out;
  const auto result = cli::ReadNpy(Path("r.npy"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->shape, (std::vector<uint64_t>{2, 1}));
  EXPECT_EQ(Values<double>(*result), (std::vector<double>{321, 654}));
}

// As of templates: the session's name is its beginning.
TEST_F(CliTest, AKernelsNameMayHaveAnyLength) {
  const std::string name(1000, 'k');
  std::ofstream(Path("long.cu")) << "extern \"C\" __global__ void " << name
                                 << "(int* out) { out[threadIdx.x] = 9; }";
  const Outcome outcome =
      Holdfast({"run", Path("long.cu"), "--kernel", name, "--grid", "1",
                "--block", "4", "out:" + Path("nines.npy") + ":i32[4]"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto result = cli::ReadNpy(Path("nines.npy"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Values<int>(*result), (std::vector<int>{9, 9, 9, 9}));
}

TEST_F(CliTest, AKernelThatRunsTooLongIsGivenUp) {
  ASSERT_TRUE(cli::WriteFile(Path("spin.cu"),
                             "extern \"C\" __global__ void spin(volatile int* "
                             "x) { while (*x == 0) {} }")
                  .ok());
  const std::vector<std::string> run = {
      "run", Path("spin.cu"), "--kernel", "spin",     "--grid",
      "1",   "--block",       "1",        "scratch:4"};
  std::vector<std::string> limited = run;
  limited.push_back("--kernel-time-limit=300ms");
  const Outcome spun = Holdfast(limited);
  ExpectFailure(spun, 1, "kernel spin");
  EXPECT_FALSE(absl::StrContains(spun.err, "\n: ")) << spun.err;
  limited.back() = "--kernel-time-limit=soon";
  ExpectFailure(Holdfast(limited), 2, "soon is no duration");
}

TEST_F(CliTest, CompiledCodeRunsInPlaceOnABuffer) {
  const Outcome compiled =
      Holdfast({"compile", Path("kernels.cu"), "-o", Path("kernels.ptx"),
                "--name", "multiply<float>", "--json"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_TRUE(absl::StrContains(compiled.out, "multiply<float>"));
  ASSERT_TRUE(
      cli::WriteNpy(Path("x.npy"),
                    MakeArray<int>(cli::ElementType::kI32, {4}, {1, 2, 3, 4}))
          .ok());
  const Outcome outcome =
      Holdfast({"run", Path("kernels.ptx"), "--kernel", "add_one", "--grid",
                "1", "--block", "4", "--json",
                "inout:" + Path("x.npy") + ":" + Path("y.npy"), "u32:3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, "\"kernel_ms\": ")) << outcome.out;
  const auto result = cli::ReadNpy(Path("y.npy"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Values<int>(*result), (std::vector<int>{2, 3, 4, 4}));
}

TEST_F(CliTest, ACompiledKernelHasItsNameInTheSourceIfOnlyOneHasIt) {
  ASSERT_TRUE(cli::WriteFile(Path("pair.cu"),
                             "struct Two { float a, b; };\n"
                             "__global__ void axpb(float* x, Two t) {\n"
                             "  x[threadIdx.x] = t.a * x[threadIdx.x] + t.b;\n"
                             "}\n"
                             "__global__ void one(float* x) { x[0] = 1; }\n"
                             "__global__ void one(int* x) { x[0] = 1; }\n")
                  .ok());
  ASSERT_EQ(
      Holdfast({"compile", Path("pair.cu"), "-o", Path("pair.ptx")}).exit_code,
      0);
  const auto run = [](const std::string& kernel,
                      const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {
        "run", Path("pair.ptx"), "--kernel", kernel,   "--grid",
        "1",   "--block",        "3",        "--print"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return Holdfast(command);
  };
  const std::string output = ":" + Path("pair.npy");
  const Outcome axpb =
      run("axpb", {"inout:arange:f32[3]" + output, "raw:0000004000008040"});
  EXPECT_EQ(axpb.exit_code, 0) << axpb.err;
  EXPECT_TRUE(absl::StrContains(axpb.out, "= [4, 6, 8]")) << axpb.out;
  ExpectFailure(run("one", {"inout:arange:f32[3]" + output}), 1,
                "no kernel is named \"one\"");
}

TEST_F(CliTest, WhatKernelsPrintComesToTheClient) {
  const std::string lines = "thread 0 has 2.5\nthread 1 has 2.5\n";
  const std::vector<std::string> run = {
      "run", Path("kernels.cu"), "--kernel", "greet",  "--grid",
      "1",   "--block",          "2",        "f64:2.5"};
  const Outcome local = Holdfast(run);
  ASSERT_EQ(local.exit_code, 0) << local.err;
  EXPECT_TRUE(absl::StartsWith(local.out, lines)) << local.out;

  std::vector<std::string> by_tcp = run;
  by_tcp.insert(by_tcp.end(), {"--address", daemon_->tcp_address()});
  EXPECT_TRUE(absl::StartsWith(Holdfast(by_tcp).out, lines));

  std::vector<std::string> with_json = run;
  with_json.push_back("--json");
  const Outcome json = Holdfast(with_json);
  EXPECT_TRUE(absl::StartsWith(json.out, "{")) << json.out;
  EXPECT_TRUE(absl::StrContains(json.err, lines)) << json.err;
}

TEST_F(CliTest, ListsDevicesAndVersions) {
  const Outcome list = Holdfast({"devices", "--json"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_TRUE(absl::StrContains(list.out, "\"kind\": \"software\""))
      << list.out;
  const Outcome one = Holdfast({"devices", "0"});
  EXPECT_TRUE(absl::StrContains(one.out, "max_threads_per_block"));
  ExpectFailure(Holdfast({"devices", "99"}), 1, "99");
  const Outcome version = Holdfast({"version"});
  EXPECT_TRUE(absl::StrContains(version.out, "daemon 0.1.0")) << version.out;
}

TEST_F(CliTest, RunsOnTheDeviceThatItIsTold) {
  const std::string list = Holdfast({"devices"}).out;
  const size_t uuid = list.rfind("GPU-");  // of the last device
  ASSERT_NE(uuid, std::string::npos) << list;
  const auto run_on = [](const std::string& device) {
    return Holdfast({"run", Path("kernels.cu"), "--kernel", "greet", "--grid",
                     "1", "--block", "1", "f64:2.5", "--device=" + device});
  };
  for (const std::string& device :
       {std::string("0"), std::string("most-free"), list.substr(uuid, 40)}) {
    const Outcome outcome = run_on(device);
    EXPECT_EQ(outcome.exit_code, 0) << device << ": " << outcome.err;
  }
  ExpectFailure(run_on("99"), 1, "device 99 does not exist");
  ExpectFailure(run_on("fastest"), 1, "most-free");
}

TEST_F(CliTest, TheSameCompilationAgainComesFromTheCacheUntilItIsCleared) {
  const auto compile = [](const std::string& output) {
    const Outcome outcome =
        Holdfast({"compile", Path("kernels.cu"), "-o", Path(output), "--name",
                  "multiply<double>", "-DCACHED=1"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(absl::StrContains(outcome.out, "multiply<double> -> "));
    return absl::StrContains(outcome.out, "from the cache");
  };
  ASSERT_EQ(Holdfast({"cache", "clear"}).exit_code, 0);
  EXPECT_FALSE(compile("fresh.ptx"));
  EXPECT_TRUE(compile("cached.ptx"));
  const auto fresh = cli::ReadFile(Path("fresh.ptx"));
  const auto cached = cli::ReadFile(Path("cached.ptx"));
  ASSERT_TRUE(fresh.ok() && cached.ok());
  EXPECT_EQ(*fresh, *cached);
  const Outcome statistics = Holdfast({"cache", "stats", "--json"});
  EXPECT_TRUE(absl::StrContains(statistics.out, "\"entries\": 1,"))
      << statistics.out << statistics.err;
  const Outcome list = Holdfast({"cache", "list"});
  EXPECT_TRUE(absl::StrContains(list.out, "kernels.cu"))
      << list.out << list.err;
  EXPECT_TRUE(absl::StrContains(list.out, "memory disk")) << list.out;
  const Outcome cleared = Holdfast({"cache", "clear", "--json"});
  EXPECT_TRUE(absl::StrContains(cleared.out, "\"entries\": 1")) << cleared.out;
  EXPECT_TRUE(absl::StrContains(cleared.out, "\"disk_entries\": 1"))
      << cleared.out;
  EXPECT_TRUE(
      absl::StrContains(Holdfast({"cache", "stats"}).out, "memory  0 entries"));
  EXPECT_FALSE(compile("again.ptx"));
}

TEST_F(CliTest, TheCacheIsForOperators) {
  const std::string& stranger = daemon_->tcp_address();
  for (const char* action : {"stats", "clear"}) {
    ExpectFailure(Holdfast({"cache", action, "--address", stranger}), 1,
                  "for operators");
  }
  // Others see the entries of their tenant, and an address alone is none.
  const Outcome list = Holdfast({"cache", "list", "--address", stranger});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_FALSE(absl::StrContains(list.out, ".cu")) << list.out;
}

TEST_F(CliTest, ACompileErrorShowsTheLogWithFileAndLine) {
  ASSERT_TRUE(cli::WriteFile(Path("broken.cu"),
                             "__global__ void k() {\n  not_a_symbol;\n}\n")
                  .ok());
  ExpectFailure(
      Holdfast({"compile", Path("broken.cu"), "-o", Path("broken.ptx")}), 1,
      "broken.cu(2)");
  ExpectFailure(Holdfast({"run", Path("broken.cu"), "--kernel", "k", "--grid",
                          "1", "--block", "1"}),
                1, "not_a_symbol");
}

TEST_F(CliTest, AnUnknownKernelIsNotTheSourcesFault) {
  ExpectFailure(Holdfast({"run", Path("kernels.cu"), "--kernel", "nothing",
                          "--grid", "1", "--block", "1"}),
                1, "has no kernel \"nothing\"");
}

TEST_F(CliTest, FilesAndArgumentsAreCheckedFirst) {
  const std::vector<std::string> run = {
      "run", Path("kernels.cu"), "--kernel", "add_one", "--grid",
      "1",   "--block",          "1"};
  const auto with = [&run](const std::string& argument) {
    std::vector<std::string> arguments = run;
    arguments.push_back(argument);
    return Holdfast(arguments);
  };
  ASSERT_TRUE(cli::WriteFile(Path("text.npy"), "not an array").ok());
  ExpectFailure(with("in:" + Path("text.npy")), 1,
                "text.npy: not a valid .npy");
  ExpectFailure(with("in:" + Path("missing.npy")), 1, "cannot read");
  ExpectFailure(with("f31:1"), 2, "unknown type \"f31\"");
  ExpectFailure(with("u8:300"), 2, "not a value of u8");
  ExpectFailure(with("scratch:4KiB"), 2, "scratch:BYTES");
  ExpectFailure(with("4"), 2, "TYPE:VALUE");
  ExpectFailure(Holdfast({"run", Path("kernels.cu")}), 2, "--kernel");
  ExpectFailure(Holdfast({"launch"}), 2, "launch");
}

TEST_F(CliTest, WrongLaunchesAreRefusedWithTheReason) {
  const auto launch = [](const std::string& grid, const std::string& block,
                         const std::string& count) {
    return Holdfast({"run", Path("kernels.cu"), "--kernel", "add_one", "--grid",
                     grid, "--block", block, "scratch:64", count});
  };
  ExpectFailure(launch("0", "1", "u32:1"), 1, "grid");
  ExpectFailure(launch("1.5", "1", "u32:1"), 2, "--grid");
  ExpectFailure(launch("1", "1x2", "u32:1"), 2, "--block");
  ExpectFailure(launch("4294967296", "1", "u32:1"), 2, "--grid");
  ExpectFailure(launch("1", "4096", "u32:1"), 1, "1024");
  ExpectFailure(launch("1", "1", "u64:1"), 1, "8");
  EXPECT_EQ(launch("1", "1", "u32:1").exit_code, 0);
}

TEST_F(CliTest, AStoreOutsideNamesKernelThreadAndLineAndHarmsNobodyElse) {
  const Outcome outcome =
      Holdfast({"run", Path("kernels.cu"), "--kernel", "stray", "--grid", "1",
                "--block", "64", "-lineinfo", "scratch:256"});
  ExpectFailure(outcome, 1, "CUDA_ERROR_ILLEGAL_ADDRESS");
  ExpectFailure(outcome, 1, "kernel stray, block (0,0,0), thread (37,0,0)");
  ExpectFailure(outcome, 1, "kernels.cu:18");
  const Outcome next =
      Holdfast({"run", Path("kernels.cu"), "--kernel", "add_one", "--grid", "1",
                "--block", "1", "scratch:64", "u32:1"});
  EXPECT_EQ(next.exit_code, 0) << next.err;
}

TEST_F(CliTest, MisspeltCommandsAndOptionsAreSuggested) {
  ExpectFailure(Holdfast({"device"}), 2, "did you mean devices?");
  ExpectFailure(Holdfast({"drain"}), 2, "did you mean admin drain?");
  ExpectFailure(Holdfast({"cache", "claer"}), 2, "did you mean clear?");
  ExpectFailure(Holdfast({"frobnicate"}), 2, "no command \"frobnicate\"");
  ExpectFailure(Holdfast({"run", Path("kernels.cu"), "--kernel", "greet",
                          "--gird", "1", "--block", "1"}),
                2, "did you mean --grid?");
  ExpectFailure(Holdfast({"cache"}), 2, "stats");
}

TEST_F(CliTest, FlagsMayStandBeforeTheCommandOfAGroup) {
  const Outcome stats = Holdfast({"cache", "--json", "stats"});
  EXPECT_EQ(stats.exit_code, 0) << stats.err;
  EXPECT_TRUE(absl::StartsWith(stats.out, "{")) << stats.out;
  for (const char* group :
       {"admin", "cache", "collection", "graph", "tenants"}) {
    const Outcome none = Holdfast({group, "--json"});
    EXPECT_EQ(none.exit_code, 2) << none.err;
    EXPECT_TRUE(absl::StrContains(none.out, absl::StrCat(group, " is given")))
        << none.out;
  }
}

TEST_F(CliTest, AMistakeInTheCommandLineIsNoFailureOfTheCommand) {
  const std::string source = Path("kernels.cu");
  ExpectFailure(Holdfast({"compile", source, "-o", Path("x")}), 2,
                "must end in .ptx");
  ExpectFailure(Holdfast({"compile", source, "--target", "exe"}), 2,
                "--target exe");
  ExpectFailure(Holdfast({"compile", source, "--language", "c"}), 2,
                "--language c");
  ExpectFailure(Holdfast({"compile", source, "--header", "a=" + source,
                          "--header", "a=" + source}),
                2, "given twice");
  ExpectFailure(Holdfast({"kernels", "x.npy"}), 2,
                "must end in one of .cu .ptx .cubin .fatbin, or");
  ExpectFailure(Holdfast({"kernels", "x.ltoir"}), 2, "`holdfast link` makes");
  ExpectFailure(Holdfast({"link", "x.npy", "-o", "x.cubin"}), 2,
                "must end in one of .ptx .cubin .ltoir .fatbin .o .a, or");
  ExpectFailure(Holdfast({"kernels", "x.ptx", "--name", "k"}), 2,
                "--name is of no use");
  ExpectFailure(Holdfast({"kernels", "sha256:12"}), 2, "SHA-256");
}

TEST_F(CliTest, KernelsOfASourceAreThoseThatAreNoTemplatesAndThoseNamed) {
  ASSERT_TRUE(cli::WriteFile(Path("two.h"), "#define TWO 2\n").ok());
  ASSERT_TRUE(
      cli::WriteFile(Path("template.cu"),
                     "#include \"two.h\"\ntemplate <class T> __global__ void "
                     "scale(T* x) { *x *= TWO; }\n")
          .ok());
  const Outcome none = Holdfast({"kernels", Path("template.cu")});
  EXPECT_EQ(none.exit_code, 0) << none.err;
  EXPECT_EQ(none.out, "");
  EXPECT_TRUE(absl::StrContains(none.err, "--name 'scale<float>'")) << none.err;
  const Outcome named =
      Holdfast({"kernels", Path("template.cu"), "--name", "scale<float>"});
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_TRUE(absl::StrContains(named.out, "parameter of 8 bytes"))
      << named.out;
  ExpectFailure(
      Holdfast({"kernels", Path("template.cu"), "--name", "scal<float>"}), 1,
      "has no kernel \"scal<float>\"");
}

TEST_F(CliTest, HelpAndVersionNeedNoDaemon) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"help"},
                                               {"--help"},
                                               {"help", "run"},
                                               {"run", "--help"},
                                               {"help", "cache", "list"}}) {
    const Outcome help = Holdfast(line);
    EXPECT_EQ(help.exit_code, 0) << help.err;
    EXPECT_TRUE(absl::StrContains(help.out, "--json")) << help.out;
  }
  EXPECT_EQ(Holdfast({"--version"}).out, "holdfast 0.1.0\n");
}

TEST_F(CliTest, ErrorsAreJsonWhereJsonIsWanted) {
  const std::vector<std::string> run = {
      "run", Path("kernels.cu"), "--kernel", "nothing", "--grid",
      "1",   "--block",          "1",        "--json"};
  Outcome failed = Holdfast(run);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_TRUE(absl::StartsWith(failed.out,
                               "{\"error\": {"
                               "\"code\": \"NOT_FOUND\""))
      << failed.out;
  failed = Holdfast({"devics", "--json"});
  EXPECT_EQ(failed.exit_code, 2);
  EXPECT_TRUE(absl::StrContains(failed.out, "did you mean devices?"))
      << failed.out;
}

// The words of the commands below `path` that have none below themselves, and
// of all groups, as --help lists them.
void Walk(const std::vector<std::string>& path,
          const std::function<void(const std::vector<std::string>&)>& visit) {
  std::vector<std::string> line = path;
  line.insert(line.begin(), ProgramPath("HOLDFAST_CLI"));
  line.emplace_back("--help");
  const std::string help = RunProgram(line).out;
  visit(path);
  const size_t commands = help.find("\nSubcommands:\n");
  if (commands == std::string::npos) return;
  for (const absl::string_view entry :
       absl::StrSplit(help.substr(commands + 14), '\n', absl::SkipEmpty())) {
    if (!absl::StartsWith(entry, "  ")) break;
    if (entry[2] == ' ') continue;
    std::vector<std::string> inner = path;
    inner.emplace_back(entry.substr(2, entry.find(' ', 2) - 2));
    Walk(inner, visit);
  }
}

TEST_F(CliTest, EveryCommandTellsItsMistakesAsJson) {
  int visited = 0;
  Walk({}, [&](std::vector<std::string> line) {
    // --device is no option, or lacks its value: no daemon is asked.
    const std::string name = absl::StrJoin(line, " ");
    line.insert(line.end(), {"--json", "--device"});
    const Outcome failed = Holdfast(line);
    EXPECT_EQ(failed.exit_code, 2) << name;
    EXPECT_TRUE(absl::StartsWith(failed.out,
                                 "{\"error\": {\"code\": \"INVALID_ARGUMENT\""))
        << name << ": " << failed.out;
    EXPECT_EQ(absl::c_count(failed.out, '\n'), 1) << failed.out;
    ++visited;
  });
  EXPECT_GT(visited, 40);
}

// Commands that only do something print one value, too.
TEST_F(CliTest, EverySuccessIsJsonWhereJsonIsWanted) {
  const auto expect_json = [&](std::vector<std::string> line,
                               const std::string& text) {
    line.emplace_back("--json");
    const Outcome done = Holdfast(line);
    EXPECT_EQ(done.exit_code, 0) << line[0] << done.err;
    EXPECT_EQ(done.out, absl::StrCat("{", text, "}\n")) << line[0];
  };
  ASSERT_TRUE(cli::WriteNpy(Path("w.npy"),
                            MakeArray<float>(cli::ElementType::kF32, {1}, {1}))
                  .ok());
  expect_json({"collection", "load", "j", Path("w.npy")},
              R"("name": "j", "loaded": true, "version": 1)");
  expect_json({"collection", "load", "j", Path("w.npy"), "--once"},
              R"("name": "j", "loaded": false)");
  for (const char* const change : {"share", "pin", "unpin"}) {
    expect_json({"collection", change, "j"}, R"("name": "j")");
  }
  expect_json({"collection", "keep", "j", "2"}, R"("name": "j")");
  expect_json({"collection", "save", "j", Path("j.safetensors")},
              absl::StrCat(R"("name": "j", "version": 1, "file": ")",
                           Path("j.safetensors"), "\""));
  expect_json({"collection", "rm", "j"},
              R"("name": "j", "deleted_versions": 1)");
  auto session = Session::Open({.address = daemon_->address()});
  ASSERT_TRUE(session.ok()) << session.status();
  const std::string id = (*session)->id();
  const std::string named = absl::StrCat(R"("session_id": ")", id, "\"");
  expect_json({"sessions", "quota", id, "--memory=1GiB"}, named);
  expect_json({"sessions", "end", id}, named);
}

TEST_F(CliTest, AnOptionIsNotTakenForTheValueOfAnother) {
  ExpectFailure(Holdfast({"bench", "--native", "--quick"}), 2,
                "--native needs a value, and --quick is an option");
  ExpectFailure(Holdfast({"sessions", "--address"}), 2,
                "--address needs a value");
}

TEST_F(CliTest, WrongValuesOfOptionsAreMistakesOfTheCommandLine) {
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"devices", "--address=nonsense"},
        {"sessions", "--address=tcp:a:7070,tcp:"},
        {"admin", "drain", "--timeout=5"},
        {"admin", "upgrade", "--timeout=soon"},
        {"tenants", "create", "a", "--compile-time=long"},
        {"cdi", "--directory=run"},
        {"help", "devics"},
        {"help", "cache", "drop"},
        {"devics", "--help"}}) {
    const Outcome failed = Holdfast(line);
    EXPECT_EQ(failed.exit_code, 2) << absl::StrJoin(line, " ") << failed.err;
  }
  for (const std::vector<std::string>& line : {std::vector<std::string>{"help"},
                                               {"help", "cache"},
                                               {"run", "--help"},
                                               {"--help"},
                                               {"--version"}}) {
    EXPECT_EQ(Holdfast(line).exit_code, 0) << absl::StrJoin(line, " ");
  }
}

TEST_F(CliTest, OutputThatCannotBeWrittenIsAFailure) {
  const auto run = [](const std::string& command, const std::string& to) {
    return RunProgram(
        {"/bin/sh", "-c", absl::StrCat("\"$HOLDFAST_CLI\" ", command, " ", to)},
        {{"HOLDFAST_ADDRESS", daemon_->address()}});
  };
  for (const std::string command :
       {"version", "devices --json", "sessions", "--help", "completion bash"}) {
    const Outcome full = run(command, ">/dev/full");
    EXPECT_EQ(full.exit_code, 1) << command;
    EXPECT_TRUE(absl::StrContains(full.err,
                                  "standard output is incomplete: "
                                  "No space left on device"))
        << full.err;
    EXPECT_EQ(run(command, ">&-").exit_code, 1) << command;
    EXPECT_EQ(run(command, "<&- >/dev/null 2>&-").exit_code, 0) << command;
  }
  // The first failure counts.
  EXPECT_EQ(run("devics --json", ">/dev/full").exit_code, 2);
}

TEST_F(CliTest, TextThatNoTerminalShowsHasNoColors) {
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"devices"}, {"sessions"}, {"no-command"}}) {
    const Outcome plain = Holdfast(line);
    EXPECT_FALSE(absl::StrContains(plain.out + plain.err, "\x1b"))
        << plain.out << plain.err;
  }
}

TEST_F(CliTest, AGroupWithoutACommandIsAMistakeForPrograms) {
  ExpectFailure(Holdfast({"admin"}), 2, "Usage: holdfast admin [OPTIONS]");
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"--json"}, {"cache", "--json"}}) {
    const Outcome failed = Holdfast(line);
    EXPECT_EQ(failed.exit_code, 2);
    EXPECT_TRUE(absl::StartsWith(failed.out, "{\"error\"")) << failed.out;
  }
}

TEST_F(CliTest, CommandsWithoutADaemonSaySoAsJson) {
  for (std::vector<std::string> line :
       {std::vector<std::string>{"devices"},
        {"sessions"},
        {"sessions", "end", "s-1"},
        {"tenants", "ls"},
        {"top", "--once"},
        {"version"},
        {"admin", "drain", "--stop"},
        {"cache", "stats"},
        {"collection", "ls"},
        {"attach", "s-1"},
        {"kernels", Path("kernels.cu")},
        {"run", Path("kernels.cu"), "--kernel", "greet", "--grid", "1",
         "--block", "1", "f64:1"}}) {
    line.insert(line.end(), {"--json", "--address=unix:/nowhere/at-all.sock"});
    const Outcome failed = Holdfast(line);
    EXPECT_EQ(failed.exit_code, 3) << line[0] << failed.err;
    EXPECT_TRUE(
        absl::StartsWith(failed.out, "{\"error\": {\"code\": \"UNAVAILABLE\""))
        << line[0] << failed.out;
  }
}

TEST_F(CliTest, AKernelRunsWithoutFilesAndShowsItsOutput) {
  const Outcome outcome =
      Holdfast({"run", Path("kernels.cu"), "--kernel", "add_one", "--grid", "1",
                "--block", "4", "--print",
                "inout:arange:i32[4]:" + Path("printed.npy"), "u32:4"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, "i32[4] = [1, 2, 3, 4]"))
      << outcome.out;
}

TEST_F(CliTest, KernelsOfASourceAreListed) {
  const Outcome list = Holdfast({"kernels", Path("kernels.cu")});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_TRUE(absl::StrContains(list.out, "add_one")) << list.out;
}

// Others may write to the directory, too.
TEST_F(CliTest, SavingWritesThroughNoLink) {
  ASSERT_TRUE(
      cli::WriteNpy(Path("w.npy"),
                    MakeArray<float>(cli::ElementType::kF32, {2}, {1, 2}))
          .ok());
  ASSERT_EQ(Holdfast({"collection", "load", "saved", Path("w.npy")}).exit_code,
            0);
  ASSERT_EQ(symlink("victim", Path("saved.safetensors.part").c_str()), 0);
  const Outcome saved =
      Holdfast({"collection", "save", "saved", Path("saved.safetensors")});
  EXPECT_EQ(saved.exit_code, 0) << saved.err;
  EXPECT_NE(access(Path("victim").c_str(), F_OK), 0);
  EXPECT_EQ(access(Path("saved.safetensors").c_str(), F_OK), 0);
  EXPECT_EQ(Holdfast({"collection", "rm", "saved"}).exit_code, 0);
}

TEST_F(CliTest, NoDaemonHasAnExitCodeOfItsOwn) {
  ExpectFailure(Holdfast({"devices", "--address=unix:/tmp/no-such-socket"}), 3,
                "no Holdfast daemon at unix:/tmp/no-such-socket");
  const Outcome version =
      Holdfast({"version", "--address=unix:/tmp/no-such-socket"});
  ExpectFailure(version, 3, "no Holdfast daemon");
  EXPECT_EQ(version.out, "client 0.1.0\n");
  ExpectFailure(Holdfast({"devices", "--address=nonsense"}), 2, "unix:PATH");
}

TEST_F(CliTest, RemoteClientsDoTheSame) {
  const Outcome outcome = Holdfast(
      {"run", "--address=" + daemon_->tcp_address(), Path("kernels.cu"),
       "--kernel", "add_one", "--grid", "65536", "--block", "64",
       "out:" + Path("ones.npy") + ":i32[4194304]", "u32:4194304"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto result = cli::ReadNpy(Path("ones.npy"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Values<int>(*result), std::vector<int>(4194304, 1));
}

TEST_F(CliTest, BenchSetsFiguresBesideTheDriversOwn) {
  const Outcome outcome =
      Holdfast({"bench", "--quick", "--only=launch,event", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* text :
       {"launch and synchronise", "record two", R"("name": "native")",
        "≥ 0.95 × native", R"("met": )"}) {
    EXPECT_TRUE(absl::StrContains(outcome.out, text)) << outcome.out;
  }
}

TEST_F(CliTest, BenchSetsRecoveryBesideOpeningAnew) {
  const Outcome outcome =
      Holdfast({"bench", "--quick", "--only=recovery", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* text :
       {"fault to the next launch, 64.0 MiB held", "open anew, copy in"}) {
    EXPECT_TRUE(absl::StrContains(outcome.out, text)) << outcome.out;
  }
}

TEST_F(CliTest, BenchNamesTheGroupsThatThereAre) {
  ExpectFailure(Holdfast({"bench", "--only=speed"}), 1, "application: ");
}

// Two daemons and an address where there is none.
class SeveralDaemonsTest : public CliTest {
 protected:
  static std::string Gone() { return "unix:" + Path("nobody.sock"); }

  // `arguments` with --address of the daemons, by commas and by repetition.
  Outcome Look(std::vector<std::string> arguments, bool with_gone) {
    arguments.push_back("--address=" + daemon_->address() +
                        (with_gone ? "," + Gone() : ""));
    arguments.push_back("--address=" + other_.address());
    return Holdfast(std::move(arguments));
  }

  DaemonProcess other_;
};

TEST_F(SeveralDaemonsTest, CommandsThatLookShowEachUnderItsHost) {
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"devices"},
           {"devices", "0"},
           {"sessions"},
           {"sessions", "--usage"},
           {"tenants", "ls"},
           {"version"},
           {"cache", "stats"},
           {"cache", "list"},
           {"collection", "ls"},
           {"top", "--once", "--interval=0.1"}}) {
    const Outcome outcome = Look(command, /*with_gone=*/false);
    EXPECT_EQ(outcome.exit_code, 0) << command[0] << outcome.err;
    for (const std::string& shown :
         {std::string(host), daemon_->address(), other_.address()}) {
      EXPECT_TRUE(absl::StrContains(outcome.out, shown))
          << command[0] << ": " << shown << "\n"
          << outcome.out;
    }
  }
}

TEST_F(SeveralDaemonsTest, OneThatIsGoneHidesNoOther) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"sessions"}, {"version"}, {"top", "--once", "--interval=0.1"}}) {
    const Outcome outcome = Look(command, /*with_gone=*/true);
    ExpectFailure(outcome, 3, Gone());
    EXPECT_TRUE(absl::StrContains(outcome.out, daemon_->address()))
        << outcome.out;
    EXPECT_TRUE(absl::StrContains(outcome.out, other_.address()))
        << outcome.out;
    const std::vector<std::string> reports =
        absl::StrSplit(outcome.err, "holdfast: ");
    EXPECT_EQ(reports.size(), 2u) << outcome.err;
  }
}

TEST_F(SeveralDaemonsTest, JsonIsOneArrayWithAnObjectForEach) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"sessions", "--json"},
           {"devices", "--json"},
           {"top", "--once", "--interval=0.1", "--json"}}) {
    const Outcome outcome = Look(command, /*with_gone=*/true);
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(json.is_array()) << outcome.out;
    ASSERT_EQ(json.size(), 3u);
    EXPECT_EQ(json[0]["address"], daemon_->address());
    EXPECT_TRUE(json[0].contains("host"));
    EXPECT_EQ(json[1]["address"], Gone());
    EXPECT_EQ(json[1]["error"]["code"], "UNAVAILABLE");
    EXPECT_EQ(json[2]["address"], other_.address());
    EXPECT_FALSE(json[2].contains("error"));
  }
}

TEST_F(SeveralDaemonsTest, CommandsThatChangeSomethingRefuseThem) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"sessions", "end", "s-1"},
           {"cache", "clear"},
           {"admin", "drain"},
           {"tenants", "create", "job"},
           {"collection", "rm", "model"},
           {"run", Path("kernels.cu"), "--kernel=add_one", "--grid=1",
            "--block=1"}}) {
    const Outcome outcome = Look(command, /*with_gone=*/false);
    ExpectFailure(outcome, 2, "takes one daemon, --address names 2: ");
  }
}

}  // namespace
}  // namespace holdfast::e2e
