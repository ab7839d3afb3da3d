// SPDX-License-Identifier: Apache-2.0
//
// Blocks of a cluster, all of which run on one thread, side by side.
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

constexpr char kHelpers[] = R"(
__device__ unsigned rank() {
  unsigned r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
__device__ void arrive() {
  asm volatile("barrier.cluster.arrive;" ::: "memory");
}
__device__ void wait() {
  asm volatile("barrier.cluster.wait;" ::: "memory");
}
template <typename T>
__device__ T* map(T* own, unsigned r) {
  T* there;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(r));
  return there;
}
)";

LaunchGeometry Clusters(uint32_t grid, uint32_t cluster, uint32_t block) {
  LaunchGeometry geometry;
  geometry.grid[0] = grid;
  geometry.cluster[0] = cluster;
  geometry.cluster[1] = geometry.cluster[2] = 1;
  geometry.block[0] = block;
  return geometry;
}

TEST(ClusterTest, ManyRoundsOfTheBarrierKeepBlocksInStep) {
  KernelProgram program(std::string(kHelpers) + R"(
extern "C" __global__ void k(unsigned* out, unsigned size, int rounds) {
  __shared__ unsigned place[1024];
  unsigned t = threadIdx.x, value = rank() * 1000 + t;
  for (int i = 0; i < rounds; ++i) {
    *map(&place[t], (rank() + 1) % size) = value;
    arrive(); wait();
    value = place[(t + 1) % blockDim.x] + 1;
    arrive(); wait();
  }
  out[blockIdx.x * blockDim.x + t] = value;
})");
  const uint32_t rounds = 21;
  for (const uint32_t block : {1u, 33u, 128u}) {
    const uint32_t size = 4, grid = 12;
    std::vector<uint32_t> out(grid * block, 0);
    ExpectSuccess(program.Run(Clusters(grid, size, block), out.data(), size,
                              static_cast<int>(rounds)));
    for (uint32_t b = 0; b < grid; ++b) {
      for (uint32_t t = 0; t < block; ++t) {
        const uint32_t from = (b % size + rounds * (size - 1)) % size;
        ASSERT_EQ(out[b * block + t],
                  from * 1000 + (t + rounds) % block + rounds)
            << b << ", " << t;
      }
    }
  }
}

TEST(ClusterTest, LanesThatDivergeMeetAtTheBarrier) {
  KernelProgram program(std::string(kHelpers) + R"(
extern "C" __global__ void k(unsigned* out) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = 0;
  arrive(); wait();
  if (threadIdx.x % 3 == 0) {
    atomicAdd(map(&sum, 0), 1);
    arrive();
    wait();
  } else if (threadIdx.x % 3 == 1) {
    atomicAdd(map(&sum, 1), 1);
    arrive();
    wait();
  } else {
    arrive();
    return;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = *map(&sum, threadIdx.x % 3);
  arrive(); wait();
})");
  const uint32_t block = 45, grid = 6, size = 2;
  std::vector<uint32_t> out(grid * block, 99);
  ExpectSuccess(program.Run(Clusters(grid, size, block), out.data()));
  for (uint32_t i = 0; i < out.size(); ++i) {
    const bool leaves = i % block % 3 == 2;
    ASSERT_EQ(out[i], leaves ? 99u : size * block / 3) << i;
  }
}

TEST(ClusterTest, ALoopMayWaitForAnotherBlock) {
  KernelProgram program(std::string(kHelpers) + R"(
extern "C" __global__ void k(unsigned* out) {
  __shared__ volatile unsigned flag;
  if (threadIdx.x == 0) flag = 0;
  arrive(); wait();
  volatile unsigned* other = map(const_cast<unsigned*>(&flag), rank() ^ 1);
  if (rank() == 0 && threadIdx.x == 0) *other = 7;
  while (rank() == 1 && flag == 0) {}
  if (rank() == 1 && threadIdx.x == 0) *other = 8;
  while (rank() == 0 && flag == 0) {}
  out[blockIdx.x * blockDim.x + threadIdx.x] = flag;
  arrive(); wait();
})");
  const uint32_t block = 64, grid = 4;
  std::vector<uint32_t> out(grid * block, 0);
  ExpectSuccess(program.Run(Clusters(grid, 2, block), out.data()));
  for (uint32_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(out[i], i / block % 2 == 0 ? 8u : 7u) << i;
  }
}

TEST(ClusterTest, ABarrierThatSomeThreadsNeverReachIsADeadlock) {
  KernelProgram program(std::string(kHelpers) + R"(
extern "C" __global__ void k() {
  if (rank() == 1 && threadIdx.x >= 32) __syncthreads();
  arrive();
  wait();
})");
  const LaunchOutcome outcome = program.Run(Clusters(2, 2, 64));
  EXPECT_EQ(outcome.result, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(outcome.message.find("deadlock"), std::string::npos)
      << outcome.message;
}

TEST(ClusterTest, ABlockOutsideOfTheClusterIsNoAddress) {
  KernelProgram program(std::string(kHelpers) + R"(
extern "C" __global__ void k(unsigned* out) {
  __shared__ unsigned mine;
  mine = 1;
  *out = *map(&mine + (64 << 10), 1);
})");
  uint32_t out = 0;
  const LaunchOutcome outcome = program.Run(Clusters(2, 2, 32), &out);
  EXPECT_EQ(outcome.result, CUDA_ERROR_ILLEGAL_ADDRESS) << outcome.message;
}

TEST(ClusterTest, AWarpThatEndsTheLaunchEndsItsWholeCluster) {
  KernelProgram program(std::string(kHelpers) + R"(
extern "C" __global__ void k() {
  if (rank() == 2) __trap();
  arrive();
  wait();
})");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(program.Run(Clusters(8, 4, 64)).result, CUDA_ERROR_LAUNCH_FAILED);
  }
}

}  // namespace
}  // namespace holdfast::software
