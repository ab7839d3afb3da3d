// SPDX-License-Identifier: Apache-2.0
//
// Loops that lanes leave one by one, as their data say, and in which they load
// from places of their own: each lane runs them by itself.
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "core/software/abi/window.h"
#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

// Rows of 0 to 40 values, one behind the other.
struct Rows {
  explicit Rows(size_t count) : starts(count + 1) {
    for (size_t r = 0; r < count; ++r) {
      starts[r + 1] = starts[r] + static_cast<int>(Bits(r) % 41);
    }
    for (int i = 0; i < starts.back(); ++i) {
      values.push_back(static_cast<int>(Bits(i + 77) % 1000));
    }
  }
  std::vector<int> starts, values;
};

class LaneLoopTest : public testing::TestWithParam<uint32_t> {};

TEST_P(LaneLoopTest, EveryRowOfItsOwnLengthIsSummedUp) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* starts, const int* values, int* sums,
                             int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int sum = 0;
  for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i];
  sums[row] = sum;
})");
  const size_t count = 700;
  const Rows rows(count);
  std::vector<int> sums(count, -1);
  const uint32_t block = GetParam();
  ASSERT_EQ(
      program
          .Run(Geometry((count + block - 1) / block, block), rows.starts.data(),
               rows.values.data(), sums.data(), static_cast<int>(count))
          .result,
      CUDA_SUCCESS);
  for (size_t r = 0; r < count; ++r) {
    ASSERT_EQ(sums[r], std::accumulate(&rows.values[rows.starts[r]],
                                       &rows.values[rows.starts[r + 1]], 0))
        << r;
  }
}

// Two loops with a little between them are run as one; some lanes leave in
// between, and some come to the second loop without the first.
TEST_P(LaneLoopTest, ALaneGoesFromOneLoopToTheNext) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* starts, const int* values, int* sums,
                             int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int sum = 0, i = starts[row];
  if (row % 5 != 0) {
#pragma unroll 1
    for (; i < starts[row + 1] && values[i] < 900; ++i) sum += values[i];
    if (sum % 3 == 0) { sums[row] = -sum; return; }
  }
#pragma unroll 1
  for (; i < starts[row + 1]; ++i) sum ^= values[i] + i;
  sums[row] = sum;
})");
  const size_t count = 700;
  const Rows rows(count);
  std::vector<int> sums(count, -1);
  const uint32_t block = GetParam();
  ASSERT_EQ(
      program
          .Run(Geometry((count + block - 1) / block, block), rows.starts.data(),
               rows.values.data(), sums.data(), static_cast<int>(count))
          .result,
      CUDA_SUCCESS);
  for (size_t r = 0; r < count; ++r) {
    int wanted = 0, i = rows.starts[r];
    const int end = rows.starts[r + 1];
    if (r % 5 != 0) {
      for (; i < end && rows.values[i] < 900; ++i) wanted += rows.values[i];
    }
    if (r % 5 != 0 && wanted % 3 == 0) {
      wanted = -wanted;
    } else {
      for (; i < end; ++i) wanted ^= rows.values[i] + i;
    }
    ASSERT_EQ(sums[r], wanted) << r;
  }
}

// The values that lanes bring out of a loop are joined: a predicate, a double,
// an index, and what the loop did not touch.
TEST_P(LaneLoopTest, WhatTheLoopFindsIsUsedBehindABarrier) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* starts, const int* values, int wanted,
                             int* found, double* sums, int* shared_sum) {
  __shared__ int total;
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  double sum = 0;
  bool hit = false;
  int i = starts[row];
  for (; i < starts[row + 1] && !hit; ++i) {
    sum += values[i];
    hit = values[i] % 100 == wanted;
  }
  found[row] = hit ? i - 1 : -static_cast<int>(threadIdx.x);
  sums[row] = sum;
  atomicAdd(&total, hit);
  __syncthreads();
  if (threadIdx.x == 0) shared_sum[blockIdx.x] = total;
})");
  const uint32_t block = GetParam();
  const size_t count = size_t{3} * block;
  const Rows rows(count);
  std::vector<int> found(count), hits(3), expected(3);
  std::vector<double> sums(count);
  ASSERT_EQ(program
                .Run(Geometry(3, block), rows.starts.data(), rows.values.data(),
                     17, found.data(), sums.data(), hits.data())
                .result,
            CUDA_SUCCESS);
  for (size_t r = 0; r < count; ++r) {
    double sum = 0;
    int at = -static_cast<int>(r % block);
    for (int i = rows.starts[r]; i < rows.starts[r + 1]; ++i) {
      sum += rows.values[i];
      if (rows.values[i] % 100 != 17) continue;
      at = i;
      ++expected[r / block];
      break;
    }
    ASSERT_EQ(found[r], at) << r;
    ASSERT_EQ(sums[r], sum) << r;
  }
  EXPECT_EQ(hits, expected);
}

// A walk within a walk, in which lanes ask who they are and look into memory of
// their own.
TEST_P(LaneLoopTest, ChainsAreWalkedWithinChains) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* next, const int* inner, int* out) {
  int own[4];
  for (int i = 0; i < 4; ++i) own[i] = threadIdx.x * i + threadIdx.y;
  const int me = threadIdx.y * blockDim.x + threadIdx.x;
  int sum = 0;
  for (int at = next[me]; at >= 0; at = next[at]) {
    for (int in = inner[at]; in >= 0; in = inner[in]) sum += in;
    sum += own[at & 3] * 3 + threadIdx.x + (threadIdx.y << 8);
  }
  out[me] = sum;
})");
  const uint32_t x = GetParam(), y = x <= 64 ? 5 : 1;
  const size_t count = size_t{x} * y;
  std::vector<int> next(count), inner(count), out(count);
  for (size_t i = 0; i < count; ++i) {
    next[i] = static_cast<int>(Bits(i) % (i + 3)) - 3;
    inner[i] = static_cast<int>(Bits(i + 1000) % (i + 4)) - 4;
    if (next[i] < 0) next[i] = -1;
    if (inner[i] < 0) inner[i] = -1;
  }
  ASSERT_EQ(
      program.Run(Geometry(1, x, y), next.data(), inner.data(), out.data())
          .result,
      CUDA_SUCCESS);
  for (size_t me = 0; me < count; ++me) {
    const int tx = static_cast<int>(me % x), ty = static_cast<int>(me / x);
    int sum = 0;
    for (int at = next[me]; at >= 0; at = next[at]) {
      for (int in = inner[at]; in >= 0; in = inner[in]) sum += in;
      sum += (tx * (at & 3) + ty) * 3 + tx + (ty << 8);
    }
    ASSERT_EQ(out[me], sum) << me;
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, LaneLoopTest,
                         testing::Values(1, 8, 16, 31, 32, 33, 64, 100, 256));

// The rows behind `row` are empty; that one leads out of memory.
LaunchOutcome SumWithABadRow(KernelProgram* program, int row, int offset) {
  const auto memory = WindowMemory::Map(1 << 16);
  const uint8_t* const end = memory->data() + memory->bytes();
  std::vector<int> starts(129, 0), sums(128);
  for (int r = 0; r < 128; ++r) starts[r + 1] = starts[r] + (r < row ? 3 : 0);
  for (int r = row; r < 128; ++r) starts[r + 1] += 40;
  return program->Run(Geometry(2, 64), starts.data(),
                      end - 4 * (3 * static_cast<ptrdiff_t>(row) + 20) + offset,
                      sums.data());
}

TEST(LaneLoopFaultTest, TheThreadThatLeavesMemoryIsNamed) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* starts, const int* values, int* sums) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i];
  sums[row] = sum;
})");
  const LaunchOutcome outcome = SumWithABadRow(&program, 107, 0);
  EXPECT_EQ(outcome.result, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(outcome.message.find("block (1,0,0), thread (43,0,0)"),
            std::string::npos)
      << outcome.message;
  const LaunchOutcome misaligned = SumWithABadRow(&program, 37, -2);
  EXPECT_EQ(misaligned.result, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_NE(misaligned.message.find("block (0,0,0), thread (0,0,0)"),
            std::string::npos)
      << misaligned.message;
}

}  // namespace
}  // namespace holdfast::software
