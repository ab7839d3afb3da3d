// SPDX-License-Identifier: Apache-2.0
//
// `holdfast run`, `compile` and `kernels`, as a shell runs them.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "client/cli/file.h"
#include "client/cli/npy.h"
#include "tests/e2e/cli_fixture.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {
namespace {

using CliKernelsTest = CliTest;

TEST_F(CliKernelsTest, RunsAnyKernelOnNumpyFiles) {
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
TEST_F(CliKernelsTest, AKernelsNameMayHaveAnyLength) {
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

TEST_F(CliKernelsTest, AKernelThatRunsTooLongIsGivenUp) {
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

TEST_F(CliKernelsTest, CompiledCodeRunsInPlaceOnABuffer) {
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

TEST_F(CliKernelsTest, ACompiledKernelHasItsNameInTheSourceIfOnlyOneHasIt) {
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

TEST_F(CliKernelsTest, WhatKernelsPrintComesToTheClient) {
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

TEST_F(CliKernelsTest, RunsOnTheDeviceThatItIsTold) {
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

TEST_F(CliKernelsTest,
       TheSameCompilationAgainComesFromTheCacheUntilItIsCleared) {
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

TEST_F(CliKernelsTest, ACompileErrorShowsTheLogWithFileAndLine) {
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

TEST_F(CliKernelsTest, AnUnknownKernelIsNotTheSourcesFault) {
  ExpectFailure(Holdfast({"run", Path("kernels.cu"), "--kernel", "nothing",
                          "--grid", "1", "--block", "1"}),
                1, "has no kernel \"nothing\"");
}

TEST_F(CliKernelsTest, FilesAndArgumentsAreCheckedFirst) {
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

TEST_F(CliKernelsTest, WrongLaunchesAreRefusedWithTheReason) {
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

TEST_F(CliKernelsTest,
       AStoreOutsideNamesKernelThreadAndLineAndHarmsNobodyElse) {
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

TEST_F(CliKernelsTest,
       KernelsOfASourceAreThoseThatAreNoTemplatesAndThoseNamed) {
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

TEST_F(CliKernelsTest, AKernelRunsWithoutFilesAndShowsItsOutput) {
  const Outcome outcome =
      Holdfast({"run", Path("kernels.cu"), "--kernel", "add_one", "--grid", "1",
                "--block", "4", "--print",
                "inout:arange:i32[4]:" + Path("printed.npy"), "u32:4"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, "i32[4] = [1, 2, 3, 4]"))
      << outcome.out;
}

TEST_F(CliKernelsTest, KernelsOfASourceAreListed) {
  const Outcome list = Holdfast({"kernels", Path("kernels.cu")});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_TRUE(absl::StrContains(list.out, "add_one")) << list.out;
}

}  // namespace
}  // namespace holdfast::e2e
