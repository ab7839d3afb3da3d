// SPDX-License-Identifier: Apache-2.0
//
// Memcheck through a daemon. A session's buffers share chunks. A kernel that
// leaves its buffer faults, also where the chunk goes on, and the error names
// the buffer.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/file.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void put(int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = i;
}
extern "C" __global__ void sum(const int* x, int n, int* result) {
  for (int i = 0; i < n; ++i) atomicAdd(result, x[i]);
}
)";

class MemcheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("HOLDFAST_TEST_DEVICE") != nullptr) {
      GTEST_SKIP() << "for the software device";
    }
    daemon_.emplace(std::vector<std::string>{"--software-memcheck"});
    session_ = Session::Open({.address = daemon_->address()}).value();
    const auto compiled =
        Program(kSource, {.name = "put.cu"}).Compile(session_->daemon());
    module_ = session_->Load(compiled.value().object).value();
    stream_ = session_->device(0).CreateStream().value();
  }

  Buffer Allocate(uint64_t bytes) {
    return session_->device(0).Allocate(bytes, *stream_).value();
  }
  static std::string Hex(uint64_t address) {
    return absl::StrCat("0x", absl::Hex(address));
  }

  template <typename... Arguments>
  absl::Status Run(const char* kernel, uint32_t threads,
                   const Arguments&... arguments) {
    const absl::Status launched =
        Launch(*stream_, {.grid = 1, .block = threads},
               module_->GetKernel(kernel).value(), arguments...);
    return launched.ok() ? stream_->Synchronize() : launched;
  }

  static void ExpectIllegal(const absl::Status& status,
                            const std::string& text) {
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_TRUE(
        absl::StrContains(status.message(), "CUDA_ERROR_ILLEGAL_ADDRESS"))
        << status;
    EXPECT_TRUE(absl::StrContains(status.message(), text)) << status;
  }

  std::optional<DaemonProcess> daemon_;
  std::unique_ptr<Session> session_;
  std::optional<Module> module_;
  std::optional<Stream> stream_;
};

TEST_F(MemcheckTest, AStoreIntoTheNeighbourIsFound) {
  const Buffer x = Allocate(16);
  const Buffer y = Allocate(16);
  const std::vector<int> before = {1, 2, 3, 4};
  ASSERT_EQ(y.Upload(before, *stream_), absl::OkStatus());
  const uint64_t address = x.address().value();
  const absl::Status status = Run("put", 1000, x, 1000);
  ExpectIllegal(status, absl::StrCat("4-byte write at ", Hex(address + 16),
                                     ", right behind the end of the buffer of "
                                     "16 bytes at ",
                                     Hex(address)));
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "kernel put, block (0,0,0), thread (4,0,0)"))
      << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "put.cu:4")) << status;
  std::vector<int> after(4);
  ASSERT_EQ(y.Download(after, *stream_), absl::OkStatus());
  EXPECT_EQ(after, before);
  // The session goes on in a successor, which checks as well.
  EXPECT_EQ(Run("put", 4, x, 4), absl::OkStatus());
  ExpectIllegal(Run("put", 5, x, 5), "behind the end of the buffer");
}

TEST_F(MemcheckTest, ALoadBehindTheLastByteIsFound) {
  const Buffer x = Allocate(40);
  const Buffer result = Allocate(4);
  ASSERT_EQ(x.Upload(std::vector<int>(10, 1), *stream_), absl::OkStatus());
  ASSERT_EQ(result.Upload(std::vector<int>(1, 0), *stream_), absl::OkStatus());
  ASSERT_EQ(Run("sum", 1, x, 10, result), absl::OkStatus());
  std::vector<int> sum(1);
  ASSERT_EQ(result.Download(sum, *stream_), absl::OkStatus());
  EXPECT_EQ(sum[0], 10);
  ExpectIllegal(Run("sum", 1, x, 11, result),
                "4-byte read at " + Hex(x.address().value() + 40));
}

// The sizes include one that fills its block, and one with its own chunk.
TEST_F(MemcheckTest, BuffersOfAllSizesHaveEnds) {
  for (const uint64_t bytes :
       {uint64_t{512}, uint64_t{4096}, uint64_t{1} << 20, uint64_t{32} << 20}) {
    const Buffer x = Allocate(bytes);
    const Buffer y = Allocate(bytes);
    const Buffer result = Allocate(4);
    const uint64_t last = x.address().value() + bytes - 4;
    EXPECT_EQ(Run("sum", 1, last, 1, result), absl::OkStatus()) << bytes;
    ExpectIllegal(Run("sum", 1, last, 2, result),
                  absl::StrCat("right behind the end of the buffer of ", bytes,
                               " bytes"));
  }
}

TEST_F(MemcheckTest, AFreedBufferIsFoundInTheOrderOfTheStream) {
  uint64_t address = 0;
  {
    const Buffer x = Allocate(64);
    address = x.address().value();
    // These launches may still use the buffer, which is freed behind them.
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(Launch(*stream_, {.grid = 1, .block = 16},
                       module_->GetKernel("put").value(), x, 16),
                absl::OkStatus());
    }
  }
  const Buffer next = Allocate(64);
  EXPECT_NE(next.address().value(), address);
  EXPECT_EQ(stream_->Synchronize(), absl::OkStatus());
  ExpectIllegal(Run("put", 1, address, 1),
                absl::StrCat("in the buffer of 64 bytes at ", Hex(address),
                             " that was freed"));
}

// The allocator keeps some freed buffers out of use, but not without end.
TEST_F(MemcheckTest, MemoryThatWasFreedIsUsedAgainWhenItIsNeeded) {
  for (int i = 0; i < 300; ++i) {
    const Buffer x = Allocate(uint64_t{12} << 20);
    ASSERT_EQ(Run("put", 32, x, 32), absl::OkStatus()) << i;
  }
}

Outcome Holdfast(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), ProgramPath("HOLDFAST_CLI"));
  return RunProgram(arguments, {});
}

TEST_F(MemcheckTest, TheCommandLineStartsADaemonForIt) {
  const std::string source = daemon_->directory() + "/put.cu";
  ASSERT_TRUE(cli::WriteFile(source, kSource).ok());
  const auto run = [&](const std::string& count) {
    return Holdfast({"run", source, "--memcheck", "--kernel", "put", "--grid",
                     "1", "--block", "32", "scratch:16", "i32:" + count});
  };
  EXPECT_EQ(run("4").exit_code, 0) << run("4").err;
  const Outcome wrong = run("5");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(
      wrong.err, "right behind the end of the buffer of 16 bytes"))
      << wrong.err;
  for (const char* command : {"run", "exec"}) {
    const Outcome named =
        Holdfast({command, "--memcheck", "--address=" + daemon_->address(),
                  source, "--kernel=put", "--grid=1", "--block=1"});
    EXPECT_EQ(named.exit_code, 2) << named.err;
    EXPECT_TRUE(absl::StrContains(named.err, "--software-memcheck"))
        << named.err;
  }
}

}  // namespace
}  // namespace holdfast::e2e
