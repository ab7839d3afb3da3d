// SPDX-License-Identifier: Apache-2.0
//
// Bulk copies between global and shared memory (cp.async.bulk): the barriers
// and groups that say when they are done, and the faults of bad ranges.
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/software/runtime/executable.h"
#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

constexpr char kBarriers[] = R"(
__device__ unsigned At(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void Init(void* bar, unsigned count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(At(bar)), "r"(count) : "memory");
}
__device__ void Expect(void* bar, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
               :: "r"(At(bar)), "r"(bytes) : "memory");
}
__device__ void Fetch(void* to, const void* from, unsigned bytes, void* bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(At(to)), "l"(from), "r"(bytes), "r"(At(bar)) : "memory");
}
__device__ void Send(void* to, const void* from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :: "l"(to), "r"(At(from)), "r"(bytes) : "memory");
}
__device__ bool Done(void* bar, unsigned parity) {
  unsigned done;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, 100; selp.u32 %0, 1, 0, p; }"
               : "=r"(done) : "r"(At(bar)), "r"(parity) : "memory");
  return done;
}
)";

// Tiles go in by one thread and out by the same; all threads wait for each.
TEST(BulkCopyTest, TilesGoThroughTwoBuffers) {
  KernelProgram program(std::string(kBarriers) + R"(
extern "C" __global__ void k(int* data, int tiles) {
  __shared__ alignas(16) int tile[2][64];
  __shared__ unsigned long long full[2];
  const int t = threadIdx.x;
  if (t == 0) { Init(&full[0], 1); Init(&full[1], 1); }
  __syncthreads();
  for (int i = 0; i <= tiles; ++i) {
    if (t == 0 && i < tiles) {
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      Fetch(tile[i % 2], data + i * 64, 256, &full[i % 2]);
      Expect(&full[i % 2], 256);
    }
    if (i == 0) continue;
    const int now = i - 1;
    while (!Done(&full[now % 2], now / 2 % 2)) {}
    if (t < 64) tile[now % 2][t] = tile[now % 2][t] * 3 + now;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      Send(data + now * 64, tile[now % 2], 256);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
  if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
})");
  constexpr int kTiles = 9;
  alignas(16) int data[kTiles * 64];
  std::iota(data, data + kTiles * 64, 5);
  ExpectSuccess(program.Run(Geometry(1, 96), +data, kTiles));
  for (int i = 0; i < kTiles * 64; ++i) {
    EXPECT_EQ(data[i], (i + 5) * 3 + i / 64) << i;
  }
}

// Whichever comes last, the bytes or the arrival, ends the phase.
TEST(BulkCopyTest, APhaseWaitsForBytesAndArrivals) {
  KernelProgram program(std::string(kBarriers) + R"(
extern "C" __global__ void k(const int* in, int* out) {
  __shared__ alignas(16) int tile[8];
  __shared__ unsigned long long bar;
  Init(&bar, 2);
  Expect(&bar, 32);
  out[0] = Done(&bar, 0);
  Fetch(tile, in, 16, &bar);
  out[1] = Done(&bar, 0);
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(At(&bar)) : "memory");
  out[2] = Done(&bar, 0);
  Fetch(tile + 4, in + 4, 16, &bar);
  out[3] = Done(&bar, 0);
  out[4] = Done(&bar, 1);
  Fetch(tile, in + 4, 16, &bar);  // of the next phase, before it is expected
  out[5] = Done(&bar, 1);
  Expect(&bar, 16);
  out[6] = Done(&bar, 1);
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(At(&bar)) : "memory");
  out[7] = Done(&bar, 1);
  for (int i = 0; i < 8; ++i) out[8 + i] = tile[i];
})");
  alignas(16) int in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  int out[16] = {};
  ExpectSuccess(program.Run(Geometry(1, 1), +in, +out));
  const std::vector<int> expected = {0, 0, 0, 1, 0, 0, 0, 1,
                                     5, 6, 7, 8, 5, 6, 7, 8};
  EXPECT_EQ(std::vector<int>(out, out + 16), expected);
}

TEST(BulkCopyTest, BlocksReduceIntoTheSameElements) {
  KernelProgram program(std::string(kBarriers) + R"(
extern "C" __global__ void k(float* sums, int* least, unsigned* count) {
  __shared__ alignas(16) float ones[32];
  __shared__ alignas(16) int mine[32];
  const int t = threadIdx.x;
  ones[t] = t + 0.5f;
  mine[t] = (int)(blockIdx.x * 7919 % 101) - t;
  __syncwarp();
  asm volatile("fence.proxy.async;" ::: "memory");
  if (t != 0) return;
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 128;"
               :: "l"(sums), "r"(At(ones)) : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%0], [%1], 128;"
               :: "l"(least), "r"(At(mine)) : "memory");
  mine[0] = mine[1] = mine[2] = mine[3] = 9;
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u32 [%0], [%1], 16;"
               :: "l"(count), "r"(At(mine)) : "memory");
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
})");
  constexpr int kBlocks = 202;
  alignas(16) float sums[32] = {};
  alignas(16) int least[32] = {};
  alignas(16) unsigned count[4] = {};
  ExpectSuccess(program.Run(Geometry(kBlocks, 32), +sums, +least, +count));
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(sums[t], kBlocks * (static_cast<float>(t) + 0.5f)) << t;
    EXPECT_EQ(least[t], -t) << t;
  }
  // From 0 to 9 and again.
  EXPECT_EQ(count[3], kBlocks % 10u);
}

// A thread of a kernel that copies as the arguments say.
constexpr char kCopies[] = R"(
extern "C" __global__ void k(const char* in, char* out, unsigned bytes, int to, int from, int gate) {
  __shared__ alignas(128) char tile[4096];
  char* const bars = tile + 2048;
  if (threadIdx.x != 3) return;
  Init(bars, 1);
  Fetch(tile + to, in + from, bytes, bars + gate);
  Send(out, tile, 16);
})";

class BulkFaultTest : public testing::Test {
 protected:
  LaunchOutcome Run(unsigned bytes, int64_t to, int64_t from, int gate = 0) {
    return program_.Run(Geometry(1, 32), +in_, +out_, bytes,
                        static_cast<int>(to), static_cast<int>(from), gate);
  }

  static void Expect(const LaunchOutcome& outcome, CUresult result,
                     const std::string& why) {
    EXPECT_EQ(outcome.result, result) << outcome.message;
    for (const std::string& text :
         {std::string("thread (3,0,0)"), std::string(": cp: "), why}) {
      EXPECT_NE(outcome.message.find(text), std::string::npos)
          << text << " is not in: " << outcome.message;
    }
  }

  alignas(16) char in_[256] = "what is copied";
  alignas(16) char out_[16] = {};
  KernelProgram program_{std::string(kBarriers) + kCopies};
};

TEST_F(BulkFaultTest, NoneIfAllIsAligned) {
  ExpectSuccess(Run(16, 0, 0));
  EXPECT_STREQ(out_, "what is copied");
  ExpectSuccess(Run(0, 0, 0));
}

TEST_F(BulkFaultTest, AddressesAreMultiplesOf16) {
  constexpr CUresult kResult = CUDA_ERROR_MISALIGNED_ADDRESS;
  Expect(Run(16, 8, 0), kResult, "is not a multiple of 16");
  Expect(Run(16, 0, 4), kResult, "is not a multiple of 16");
  Expect(Run(24, 0, 0), kResult, "a size of 24 bytes is not a multiple of 16");
  Expect(Run(16, 0, 0, 4), kResult, "is not a multiple of 8");
}

TEST_F(BulkFaultTest, RangesLieInMemory) {
  constexpr CUresult kResult = CUDA_ERROR_ILLEGAL_ADDRESS;
  Expect(Run(16, 200 << 10, 0), kResult, "of shared memory");
  Expect(Run(16, 8 << 20, 0), kResult, "where no memory is mapped");
  Expect(Run(512 << 10, 0, 0), kResult, "of shared memory");
  Expect(Run(0xFFFFFFF0, 0, 0), kResult, "of shared memory");
  EXPECT_EQ(Run(16, 0, 0).result, CUDA_SUCCESS);
}

// Of a module that names what is not there.
std::string LogOf(const std::string& instruction) {
  std::string log;
  std::unique_ptr<Executable> executable;
  Executable::Load(R"(.version 8.6
.target sm_90
.address_size 64
.visible .entry k() {
.reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .b16 %h<2>;
.shared .align 16 .b8 tile[64];
)" + instruction + "\nret;\n}\n",
                   &executable, &log);
  if (executable == nullptr) return log;
  return executable->kernels()[0].unsupported;
}

TEST(BulkCopyTest, RefusesTheRestByName) {
  const std::string reduce =
      "cp.reduce.async.bulk.global.shared::cta.bulk_group";
  EXPECT_EQ(LogOf(reduce + ".add.u32 [%rd1], [%r1], 16;"), "");
  EXPECT_EQ(LogOf(reduce + ".add.s64 [%rd1], [%r1], 16;"),
            "7:1: unsupported form '" + reduce + ".add.s64'");
  EXPECT_EQ(LogOf("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                  "bytes.multicast::cluster [%r1], [%rd1], 16, [%r2], %h1;"),
            "7:1: 'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
            "bytes.multicast::cluster' is not served: the software device has "
            "no bulk copies to several blocks");
  EXPECT_EQ(LogOf("st.bulk.weak.shared::cta [%r1], %rd1, 0;"),
            "7:1: 'st.bulk.weak.shared::cta' is not served: the software "
            "device has no instructions of compute capability 10 and above");
}

}  // namespace
}  // namespace holdfast::software
