// SPDX-License-Identifier: Apache-2.0
//
// Kernels with more values than registers: the rest is on the stack of a warp.
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/sanitizer.h"
#include "core/software/runtime/executable.h"
#include "core/software/runtime/fault_report.h"
#include "gtest/gtest.h"
#include "tests/testing/memory_limit.h"

namespace holdfast::software {
namespace {

constexpr int kThreads = 64;
constexpr int kLargeBlock = 1024;

// keep(in, out): loads `values` numbers a thread, meets the others, and adds
// the numbers up, the last one first.
std::string KeepingPtx(int values) {
  std::string ptx = absl::StrCat(R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry keep(.param .u64 p_in, .param .u64 p_out)
{
    .reg .b64 %in, %out, %at, %sum, %v<)",
                                 values, R"(>;
    .reg .b32 %tid;
    ld.param.u64 %in, [p_in];
    ld.param.u64 %out, [p_out];
    mov.u32 %tid, %tid.x;
    mul.wide.u32 %at, %tid, 8;
    add.u64 %in, %in, %at;
    add.u64 %out, %out, %at;
)");
  for (int i = 0; i < values; ++i) {
    absl::StrAppend(&ptx, "ld.global.u64 %v", i, ", [%in+", i * 8 * kThreads,
                    "];\n");
  }
  ptx += "bar.sync 0;\nmov.u64 %sum, 0;\n";
  for (int i = values - 1; i >= 0; --i) {
    absl::StrAppend(&ptx, "add.u64 %sum, %sum, %v", i, ";\n");
  }
  return ptx + "st.global.u64 [%out], %sum;\nret;\n}\n";
}

LaunchOutcome RunKeep(int values, const std::vector<uint64_t>& in,
                      std::vector<uint64_t>* out, int threads = kThreads) {
  std::unique_ptr<Executable> executable;
  std::string log;
  EXPECT_EQ(Executable::Load(KeepingPtx(values), &executable, &log),
            CUDA_SUCCESS)
      << log;
  LaunchGeometry geometry;
  geometry.block[0] = threads;
  const void* parameters[] = {in.data(), out->data()};
  return executable->Launch(0, geometry, parameters, nullptr);
}

TEST(StackTest, HoldsThousandsOfValuesAcrossABarrier) {
  constexpr int kValues = 4500;  // 1.1 MiB of a warp
  std::vector<uint64_t> in(size_t{kValues} * kThreads), out(kThreads);
  for (size_t i = 0; i < in.size(); ++i) in[i] = i * 0x9E3779B97F4A7C15;
  const LaunchOutcome outcome = RunKeep(kValues, in, &out);
  ASSERT_EQ(outcome.result, CUDA_SUCCESS) << outcome.message;
  for (int t = 0; t < kThreads; ++t) {
    uint64_t sum = 0;
    for (int i = kValues - 1; i >= 0; --i) {
      sum += in[static_cast<size_t>(i) * kThreads + t];
    }
    EXPECT_EQ(out[t], sum) << t;
  }
}

// Streams have a thread each. A block of 1024 threads has 32 stacks, whose
// addresses alone are four times the limit here.
TEST(StackTest, ManyThreadsRunBlocksWithBarriersUnderALimitOfMemory) {
  if (kSanitized) GTEST_SKIP();
  constexpr int kLaunches = 32;
  const ::holdfast::testing::MemoryLimit limit(uint64_t{2} << 30);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kLaunches; ++i) {
    threads.emplace_back([&right] {
      constexpr int kValues = 2;
      const std::vector<uint64_t> in(size_t{kValues} * kLargeBlock, 1);
      std::vector<uint64_t> out(kLargeBlock);
      const LaunchOutcome outcome = RunKeep(kValues, in, &out, kLargeBlock);
      EXPECT_EQ(outcome.result, CUDA_SUCCESS) << outcome.message;
      right += out.back() == kValues;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kLaunches);
}

class NoCode : public jit::CompiledKernel {
 public:
  KernelFunction* function() const override { return nullptr; }
  std::optional<jit::MachineAccess> Find(
      const jit::MachineState&) const override {
    return std::nullopt;
  }
};

// A kernel of this size compiles for minutes: the report alone.
TEST(StackTest, ThatIsTooSmallIsNotTakenForAWildPointer) {
  ptx::Function function;
  function.name = "k";
  lower::Kernel kernel;
  kernel.function = &function;
  const auto describe = [&](uint64_t address) {
    KernelFault fault{KernelFault::Kind::kAddress, address};
    fault.state.pc = 1;
    fault.state.registers[4] = 0x7f0000001000;  // rsp
    return FaultReport{kernel, NoCode(), {}, {}, fault, ""}.Describe();
  };
  for (const uint64_t at :
       {0x7f0000001000ul, 0x7f0000000ff8ul, 0x7f0000001ff8ul}) {
    const LaunchOutcome outcome = describe(at);
    EXPECT_EQ(outcome.result, CUDA_ERROR_HARDWARE_STACK_ERROR) << at;
    EXPECT_NE(outcome.message.find("more values than a warp's stack holds"),
              std::string::npos)
        << outcome.message;
  }
  for (const uint64_t at : {0ul, 8ul, 0x7f0000008000ul, 0x7effffff8000ul}) {
    EXPECT_EQ(describe(at).result, CUDA_ERROR_ILLEGAL_ADDRESS) << at;
  }
}

}  // namespace
}  // namespace holdfast::software
