// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose threads wait for each other, in blocks of every shape.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

class BarrierTest : public testing::TestWithParam<uint32_t> {};

TEST_P(BarrierTest, TreeReductionInSharedMemorySeesEveryThread) {
  KernelProgram program(R"(
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  __shared__ unsigned part[1024];
  unsigned t = threadIdx.x, n = blockDim.x;
  part[t] = in[blockIdx.x * n + t];
  __syncthreads();
  for (unsigned stride = 512; stride > 0; stride /= 2) {
    if (t < stride && t + stride < n) part[t] += part[t + stride];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
})");
  const uint32_t block = GetParam(), grid = 7;
  std::vector<uint32_t> in(grid * block), out(grid, 0);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(i * i);
  ExpectSuccess(program.Run(Geometry(grid, block), in.data(), out.data()));
  for (uint32_t b = 0; b < grid; ++b) {
    uint32_t sum = 0;
    for (uint32_t t = 0; t < block; ++t) sum += in[b * block + t];
    EXPECT_EQ(out[b], sum) << b;
  }
}

TEST_P(BarrierTest, RotationThroughSharedMemoryReadsWhatOtherWarpsWrote) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, int rounds) {
  __shared__ int place[1024];
  int t = threadIdx.x, n = blockDim.x, value = t;
  for (int r = 0; r < rounds; ++r) {
    place[t] = value;
    __syncthreads();
    value = place[(t + 1) % n] + 1;
    __syncthreads();
  }
  out[t] = value;
})");
  const int block = static_cast<int>(GetParam()), rounds = 37;
  std::vector<int> out(block, 0);
  ExpectSuccess(program.Run(Geometry(1, block), out.data(), rounds));
  for (int t = 0; t < block; ++t) {
    EXPECT_EQ(out[t], (t + rounds) % block + rounds) << t;
  }
}

TEST_P(BarrierTest, BlocksThatFollowEachOtherOnAThreadBeginAfresh) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out) {
  __shared__ unsigned sum;
  unsigned t = threadIdx.x, b = blockIdx.x;
  if (t == 0) sum = b;
  __syncthreads();
  if (b % 3 == 0 && t / 32 == b % 4) return;
  atomicAdd(&sum, t + 1);
  __syncthreads();
  if (b % 5 == 0 && t % 2 == 1) return;
  unsigned left = __syncthreads_count(1);
  out[b * blockDim.x + t] = sum + (left << 20);
})");
  const uint32_t block = GetParam(), grid = 1500;
  std::vector<uint32_t> out(grid * block, 0);
  ExpectSuccess(program.Run(Geometry(grid, block), out.data()));
  for (uint32_t b = 0; b < grid; ++b) {
    const auto gone = [b](uint32_t t) { return b % 3 == 0 && t / 32 == b % 4; };
    const auto stays = [&](uint32_t t) {
      return !gone(t) && !(b % 5 == 0 && t % 2 == 1);
    };
    uint32_t sum = b, left = 0;
    for (uint32_t t = 0; t < block; ++t) {
      if (!gone(t)) sum += t + 1;
      if (stays(t)) ++left;
    }
    for (uint32_t t = 0; t < block; ++t) {
      ASSERT_EQ(out[b * block + t], stays(t) ? sum + (left << 20) : 0)
          << b << " " << t;
    }
  }
}

TEST_P(BarrierTest, ThreadsThatHaveReturnedCountAsArrived) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, int leave) {
  __shared__ int last;
  int t = threadIdx.x;
  if (t >= leave && t % 3 != 0) return;
  if (t == 0) last = 42;
  __syncthreads();
  out[t] = last;
})");
  const int block = static_cast<int>(GetParam()), leave = block / 2;
  std::vector<int> out(block, 0);
  ExpectSuccess(program.Run(Geometry(1, block), out.data(), leave));
  for (int t = 0; t < block; ++t) {
    EXPECT_EQ(out[t], t >= leave && t % 3 != 0 ? 0 : 42) << t;
  }
}

TEST_P(BarrierTest, BothArmsOfABranchMayHoldABarrierOfTheirOwn) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  __shared__ int place[1024];
  int t = threadIdx.x;
  place[t] = -1;
  if (t % 2) {
    place[t] = 2 * t;
    asm volatile("barrier.sync 0;" ::: "memory");
  } else {
    place[t] = 3 * t;
    asm volatile("barrier.sync 0;" ::: "memory");
  }
  out[t] = place[(t + 1) % blockDim.x];
})");
  const int block = static_cast<int>(GetParam());
  std::vector<int> out(block, 0);
  ExpectSuccess(program.Run(Geometry(1, block), out.data()));
  for (int t = 0; t < block; ++t) {
    const int from = (t + 1) % block;
    EXPECT_EQ(out[t], from % 2 ? 2 * from : 3 * from) << t;
  }
}

TEST_P(BarrierTest, ReductionsOfABarrierCountPredicatesOfAllThreads) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, int limit) {
  int t = threadIdx.x;
  int count = __syncthreads_count(t < limit);
  int any = __syncthreads_or(t == limit);
  int all = __syncthreads_and(t <= limit);
  out[t] = count * 4 + (any != 0) * 2 + (all != 0);
})");
  const int block = static_cast<int>(GetParam());
  for (const int limit : {0, 1, block - 1, block}) {
    std::vector<int> out(block, -1);
    ExpectSuccess(program.Run(Geometry(1, block), out.data(), limit));
    const int expected =
        std::min(limit, block) * 4 + (limit < block) * 2 + (block - 1 <= limit);
    for (int t = 0; t < block; ++t) EXPECT_EQ(out[t], expected) << t;
  }
}

TEST_P(BarrierTest, DivergedLanesMeetAgainAndStillLoadTheirOwn) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* in, int* out, int n) {
  __shared__ int tile[1026];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  tile[t + 1] = i < n ? in[i] : 0;
  if (t == 0) tile[0] = i > 0 ? in[i - 1] : 0;
  if (t == blockDim.x - 1) tile[t + 2] = i + 1 < n ? in[i + 1] : 0;
  __syncthreads();
  for (int round = 0; round < 3; ++round) {
    int sum = tile[t] + tile[t + 1] + tile[t + 2];
    if (sum % 2) sum = 3 * sum + round;
    if (i < n) out[i] = round == 0 ? sum : out[i] + sum;
  }
})");
  const int block = static_cast<int>(GetParam()), n = 5 * block - 3;
  std::vector<int> in(n), out(n + 8, -7);
  for (int i = 0; i < n; ++i) in[i] = i * 31 % 1009;
  ExpectSuccess(program.Run(Geometry(5, block), in.data(), out.data(), n));
  for (int i = 0; i < n; ++i) {
    int expected = 0;
    for (int round = 0; round < 3; ++round) {
      int sum = (i > 0 ? in[i - 1] : 0) + in[i] + (i + 1 < n ? in[i + 1] : 0);
      if (sum % 2) sum = 3 * sum + round;
      expected += sum;
    }
    ASSERT_EQ(out[i], expected) << i;
  }
  EXPECT_EQ(out[n], -7);
}

// Wrong programs that are right on every GPU, where all warps read within a few
// cycles: between a read and the next write to the place there is no barrier.
TEST_P(BarrierTest, ASumThatAllReadIsNotOverwrittenByTheNextSum) {
  KernelProgram program(R"(
__device__ unsigned Sum(unsigned value) {
  __shared__ unsigned part[32];
  unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 16; i > 0; i /= 2) value += __shfl_xor_sync(~0u, value, i);
  if (lane == 0) part[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < (blockDim.x + 31) / 32 ? part[lane] : 0;
    for (int i = 16; i > 0; i /= 2) value += __shfl_xor_sync(~0u, value, i);
    if (lane == 0) part[0] = value;
  }
  __syncthreads();
  return part[0];
}
extern "C" __global__ void k(unsigned* out) {
  unsigned t = threadIdx.x;
  unsigned sum = Sum(t), squares = Sum(sum + t), last = Sum(squares - t);
  out[t] = sum + squares + last;
})");
  const uint32_t block = (GetParam() + 31) / 32 * 32;
  std::vector<uint32_t> out(block, 0);
  ExpectSuccess(program.Run(Geometry(1, block), out.data()));
  uint32_t sum = 0, second = 0, third = 0;
  for (uint32_t t = 0; t < block; ++t) sum += t;
  for (uint32_t t = 0; t < block; ++t) second += sum + t;
  for (uint32_t t = 0; t < block; ++t) third += second - t;
  for (uint32_t t = 0; t < block; ++t) {
    ASSERT_EQ(out[t], sum + second + third) << t;
  }
}

TEST_P(BarrierTest, PartsThatOneWarpReadsAreNotOverwrittenByTheNextSum) {
  KernelProgram program(R"(
__device__ unsigned Sum(unsigned value) {
  __shared__ unsigned part[32];
  unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 16; i > 0; i /= 2) value += __shfl_down_sync(~0u, value, i);
  if (lane == 0) part[warp] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? part[lane] : 0;
  if (warp == 0) {
    for (int i = 16; i > 0; i /= 2) value += __shfl_down_sync(~0u, value, i);
  }
  return value;
}
extern "C" __global__ void k(unsigned* out) {
  unsigned sum = Sum(threadIdx.x), squares = Sum(threadIdx.x * threadIdx.x);
  if (threadIdx.x == 0) out[0] = sum, out[1] = squares;
})");
  const uint32_t block = (GetParam() + 31) / 32 * 32;
  std::vector<uint32_t> out(2, 0);
  ExpectSuccess(program.Run(Geometry(1, block), out.data()));
  uint32_t sum = 0, squares = 0;
  for (uint32_t t = 0; t < block; ++t) sum += t, squares += t * t;
  EXPECT_EQ(out[0], sum);
  EXPECT_EQ(out[1], squares);
}

INSTANTIATE_TEST_SUITE_P(Blocks, BarrierTest,
                         testing::Values(1, 2, 31, 32, 33, 64, 100, 256, 1024));

// The second of two blocks in a row finds no arrival of the first.
TEST(NamedBarrierTest, ArrivalsThatNobodyWaitedForEndWithTheirBlock) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out) {
  __shared__ unsigned value;
  unsigned t = threadIdx.x, b = blockIdx.x;
  if (t == 0) value = 0;
  __syncthreads();
  if (b % 2 == 0) {
    if (t < 32) asm volatile("barrier.arrive 1, 64;" ::: "memory");
  } else {
    if (t == 32) value = b;
    asm volatile("barrier.sync 1, 64;" ::: "memory");
    out[b * 64 + t] = value;
  }
  __syncthreads();
})");
  const uint32_t grid = 600;
  std::vector<uint32_t> out(grid * 64, 0);
  ExpectSuccess(program.Run(Geometry(grid, 64), out.data()));
  for (uint32_t i = 0; i < out.size(); ++i) {
    const uint32_t b = i / 64;
    ASSERT_EQ(out[i], b % 2 == 0 ? 0 : b) << i;
  }
}

TEST(NamedBarrierTest, ProducersArriveAndConsumersWait) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  __shared__ int place[64];
  int t = threadIdx.x;
  if (t < 64) {
    for (int round = 0; round < 5; ++round) {
      asm volatile("bar.sync 1, 128;" ::: "memory");
      out[round * 64 + t] = place[63 - t];
      asm volatile("bar.arrive 2, 128;" ::: "memory");
    }
  } else {
    for (int round = 0; round < 5; ++round) {
      if (round > 0) asm volatile("bar.sync 2, 128;" ::: "memory");
      place[t - 64] = 1000 * round + t;
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    }
  }
})");
  std::vector<int> out(5 * 64, 0);
  ExpectSuccess(program.Run(Geometry(1, 128), out.data()));
  for (int round = 0; round < 5; ++round) {
    for (int t = 0; t < 64; ++t) {
      EXPECT_EQ(out[round * 64 + t], 1000 * round + 64 + 63 - t);
    }
  }
}

TEST(NamedBarrierTest, WarpsThatSpinOnAFlagLetItsOwnerRun) {
  KernelProgram program(R"(
extern "C" __global__ void k(volatile int* flag, int* out) {
  int t = threadIdx.x;
  if (t < 32) {
    while (*flag == 0) {}
    out[t] = *flag;
  } else if (t == 63) {
    *flag = 5;
  }
})");
  int flag = 0;
  std::vector<int> out(32, 0);
  ExpectSuccess(program.Run(Geometry(1, 64), &flag, out.data()));
  for (const int value : out) EXPECT_EQ(value, 5);
}

TEST(NamedBarrierTest, LanesThatSpinOnAFlagLetTheirNeighboursRun) {
  KernelProgram program(R"(
extern "C" __global__ void k(volatile int* flag, int* out) {
  int t = threadIdx.x;
  if (t != 17) {
    while (*flag == 0) {}
  } else {
    *flag = 5;
  }
  out[t] = *flag;
})");
  int flag = 0;
  std::vector<int> out(32, 0);
  ExpectSuccess(program.Run(Geometry(1, 32), &flag, out.data()));
  for (const int value : out) EXPECT_EQ(value, 5);
}

TEST(NamedBarrierTest, SyncwarpInDivergedCodeOrdersLanes) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  __shared__ int place[32];
  int t = threadIdx.x;
  if (t % 2) {
    place[t] = t;
    __syncwarp();
    out[t] = place[t ^ 1];
  } else {
    place[t] = 100 + t;
    __syncwarp();
    out[t] = place[t ^ 1];
  }
})");
  std::vector<int> out(32, 0);
  ExpectSuccess(program.Run(Geometry(1, 32), out.data()));
  for (int t = 0; t < 32; ++t) EXPECT_EQ(out[t], t % 2 ? 100 + t - 1 : t + 1);
}

TEST(DeadlockTest, ABarrierThatNobodyElseReachesIsReported) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  if (threadIdx.x < 32) asm volatile("bar.sync 3, 96;" ::: "memory");
  out[threadIdx.x] = 1;
})");
  std::vector<int> out(96, 0);
  const LaunchOutcome outcome = program.Run(Geometry(1, 96), out.data());
  EXPECT_EQ(outcome.result, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(outcome.message.find("deadlock: warps 0 wait"), std::string::npos)
      << outcome.message;
  // The thread that ran it is as good as before.
  KernelProgram good(R"(
extern "C" __global__ void k(int* out) {
  __syncthreads();
  out[threadIdx.x] = 2;
})");
  ExpectSuccess(good.Run(Geometry(1, 96), out.data()));
  EXPECT_EQ(out[95], 2);
}

TEST(NamedBarrierTest, GroupsWithMasksOfTheirOwnMeetAtOneShuffle) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, int late) {
  int t = threadIdx.x;
  unsigned mask = t < 16 ? 0xffffu : 0xffff0000u;
  int value = 100 + t;
  if (t >= 8 && t < 16) {
    for (int i = 0; i < late; ++i) value += i % 3;
  }
  out[t] = __shfl_xor_sync(mask, value, 8);
})");
  const int late = 50;
  int added = 0;
  for (int i = 0; i < late; ++i) added += i % 3;
  std::vector<int> out(32, 0);
  ExpectSuccess(program.Run(Geometry(1, 32), out.data(), late));
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(out[t], 100 + (t ^ 8) + (t < 8 ? added : 0)) << t;
  }
}

TEST(NamedBarrierTest, LanesBehindAPassedBarrierRunWhileNeighboursSpin) {
  KernelProgram program(R"(
extern "C" __global__ void k(volatile int* flag, int* out) {
  int t = threadIdx.x;
  if (t % 2) {
    asm volatile("barrier.sync 1, 16;" ::: "memory");
    if (t == 1) *flag = 7;
  } else {
    while (*flag == 0) {}
  }
  out[t] = *flag;
})");
  int flag = 0;
  std::vector<int> out(32, 0);
  ExpectSuccess(program.Run(Geometry(1, 32), &flag, out.data()));
  for (const int value : out) EXPECT_EQ(value, 7);
}

TEST(DeadlockTest, ATrapEndsTheBlocksThatWaitForItsOwn) {
  KernelProgram program(R"(
extern "C" __global__ void k(volatile int* flag) {
  if (blockIdx.x == 1) __trap();
  while (*flag == 0) {}
})");
  int flag = 0;
  LaunchGeometry geometry = Geometry(2, 32);
  geometry.cooperative = true;
  EXPECT_EQ(program.Run(geometry, &flag).result, CUDA_ERROR_LAUNCH_FAILED);
}

TEST(DeadlockTest, AFaultBehindABarrierEndsTheLaunchOnly) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  __syncthreads();
  if (threadIdx.x == 70) *(int*)16 = 1;
  __syncthreads();
})");
  std::vector<int> out(96, 0);
  for (int i = 0; i < 3; ++i) {
    const LaunchOutcome outcome = program.Run(Geometry(4, 96), out.data());
    EXPECT_EQ(outcome.result, CUDA_ERROR_ILLEGAL_ADDRESS) << outcome.message;
  }
}

}  // namespace
}  // namespace holdfast::software
