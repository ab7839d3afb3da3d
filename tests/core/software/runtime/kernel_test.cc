// SPDX-License-Identifier: Apache-2.0
//
// Kernels as people write them, compiled by NVRTC and run on the CPU, against
// the same computation in C++: every block shape from one thread to many warps,
// with and without divergence.

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

class BlockShapeTest : public testing::TestWithParam<uint32_t> {};

TEST_P(BlockShapeTest, GridStrideLoopOfFloatsReachesEveryElement) {
  KernelProgram program(R"(
template <typename T>
__device__ void add(const T* a, const T* b, T* c, size_t n) {
  const unsigned int tid = threadIdx.x + blockIdx.x * blockDim.x;
  for (size_t i = tid; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}
extern "C" __global__ void k(const float* a, const float* b, float* c,
                             size_t n) { add(a, b, c, n); })");
  const size_t n = 10007;
  std::vector<float> a(n), b(n), c(n + 1, -1.0f);
  for (size_t i = 0; i < n; ++i) {
    a[i] = static_cast<float>(Bits(i)) * 1e-5f;
    b[i] = static_cast<float>(i) / 3.0f;
  }
  for (const uint32_t grid : {1u, 3u, 64u}) {
    ExpectSuccess(program.Run(Geometry(grid, GetParam()), a.data(), b.data(),
                              c.data(), n));
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
    ASSERT_EQ(c[n], -1.0f) << "written behind the end";
    std::fill(c.begin(), c.end(), -1.0f);
  }
}

TEST_P(BlockShapeTest, GuardedSaxpyOfDoublesStopsAtTheEnd) {
  KernelProgram program(R"(
extern "C" __global__ void k(double a, double* x, double* y, double* out,
                             size_t n) {
  size_t tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < n) out[tid] = a * x[tid] + y[tid];
})");
  const size_t n = 5000;
  std::vector<double> x(n), y(n), out(n + 1, -1.0);
  for (size_t i = 0; i < n; ++i) {
    x[i] = Bits(i) * 1e-3;
    y[i] = std::sqrt(static_cast<double>(i));
  }
  const uint32_t block = GetParam();
  ExpectSuccess(program.Run(Geometry((n + block - 1) / block, block), 2.5,
                            x.data(), y.data(), out.data(), n));
  for (size_t i = 0; i < n; ++i) {
    const volatile double product = 2.5 * x[i];
    ASSERT_EQ(out[i], product + y[i]) << i;
  }
  ASSERT_EQ(out[n], -1.0);
}

TEST_P(BlockShapeTest, DataDependentLoopsEndForEachThreadByItself) {
  KernelProgram program(R"(
extern "C" __global__ void k(const unsigned* in, unsigned* steps, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = in[i], count = 0;
  while (v != 1) {
    if (v & 1) v = 3 * v + 1; else v /= 2;
    ++count;
  }
  steps[i] = count;
})");
  const uint32_t n = 3000;
  std::vector<uint32_t> in(n), steps(n, 0);
  for (uint32_t i = 0; i < n; ++i) in[i] = 1 + Bits(i) % 5000;
  const uint32_t block = GetParam();
  ExpectSuccess(program.Run(Geometry((n + block - 1) / block, block), in.data(),
                            steps.data(), n));
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t count = 0;
    for (uint32_t v = in[i]; v != 1; ++count) v = v & 1 ? 3 * v + 1 : v / 2;
    ASSERT_EQ(steps[i], count) << "of " << in[i];
  }
}

TEST_P(BlockShapeTest, MandelbrotEqualsTheSameFloatsOnTheHost) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, int width, int height, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= width * height) return;
  float cx = -2.0f + 3.0f * (i % width) / width;
  float cy = -1.5f + 3.0f * (i / width) / height;
  float x = 0, y = 0;
  int n = 0;
  while (n < limit && x * x + y * y <= 4.0f) {
    float t = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = t;
    ++n;
  }
  out[i] = n;
})");
  const int width = 61, height = 43, limit = 200;
  std::vector<int> out(width * height, -1);
  const uint32_t block = GetParam();
  ExpectSuccess(program.Run(Geometry((out.size() + block - 1) / block, block),
                            out.data(), width, height, limit));
  for (int i = 0; i < width * height; ++i) {
    const volatile float fx = 3.0f * static_cast<float>(i % width);
    const int row = i / width;
    const volatile float fy = 3.0f * static_cast<float>(row);
    const volatile float qx = fx / width, qy = fy / height;
    const float cx = -2.0f + qx, cy = -1.5f + qy;
    float x = 0, y = 0;
    int n = 0;
    while (n < limit) {
      const volatile float xx = x * x, yy = y * y;
      if (!(xx + yy <= 4.0f)) break;
      const volatile float difference = xx - yy;
      const volatile float doubled = 2.0f * x;
      const volatile float product = doubled * y;
      x = difference + cx;
      y = product + cy;
      ++n;
    }
    ASSERT_EQ(out[i], n) << i;
  }
}

// Whole warps begin at multiples of 32, which blocks of less than a warp do
// not: both run the same code.
TEST_P(BlockShapeTest, BitsOfAThreadsNumberAreRight) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out, unsigned* shape) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, warps;
  asm("mov.u32 %0, %%nwarpid;" : "=r"(warps));
  out[4 * i] = i / 32;
  out[4 * i + 1] = i & 31;
  out[4 * i + 2] = (i & 63) * 3 + (blockIdx.x * blockDim.x & 31);
  out[4 * i + 3] = threadIdx.y + threadIdx.z;
  if (threadIdx.x == blockDim.x - 1) {
    shape[blockIdx.x] = blockDim.x * 64 + blockDim.y * blockDim.z * warps;
  }
})");
  const uint32_t threads = GetParam(), blocks = 9;
  std::vector<uint32_t> out(4 * threads * blocks, ~0u), shape(blocks);
  ExpectSuccess(
      program.Run(Geometry(blocks, threads), out.data(), shape.data()));
  for (uint32_t i = 0; i < threads * blocks; ++i) {
    ASSERT_EQ(out[4 * i], i / 32) << i;
    ASSERT_EQ(out[4 * i + 1], i % 32) << i;
    ASSERT_EQ(out[4 * i + 2], i % 64 * 3 + i / threads * threads % 32) << i;
    ASSERT_EQ(out[4 * i + 3], 0u) << i;
  }
  for (const uint32_t found : shape) {
    EXPECT_EQ(found, threads * 64 + (threads + 31) / 32);
  }
}

// A program does so if it tries a kernel with one thread before it runs it.
TEST(KernelTest, BlocksOfAllSizesFollowEachOther) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  if (i >= n) return;
  for (int j = in[i] & 15; j >= 0; --j) sum += in[(i + j) % n];
  out[i] = sum;
})");
  constexpr int kCount = 1500;
  std::vector<int> in(kCount), expected(kCount, 0);
  for (int i = 0; i < kCount; ++i) {
    in[i] = static_cast<int>(Bits(i) & 0xffff);
  }
  for (int i = 0; i < kCount; ++i) {
    for (int j = in[i] & 15; j >= 0; --j) expected[i] += in[(i + j) % kCount];
  }
  for (const uint32_t block : {1u, 1024u, 7u, 32u, 33u, 256u, 31u, 64u}) {
    std::vector<int> out(kCount, -1);
    ExpectSuccess(program.Run(Geometry((kCount + block - 1) / block, block),
                              in.data(), out.data(), kCount));
    EXPECT_EQ(out, expected) << block;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, BlockShapeTest,
                         testing::Values(1, 7, 31, 32, 33, 64, 96, 100, 256,
                                         1000, 1024));

TEST(KernelTest, NestedBranchesAndEarlyReturnsTakeTheRightWay) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = in[i], r = 0;
  if (v < 0) { out[i] = -v; return; }
  for (int j = 0; j < v % 7; ++j) {
    if (j == 3) continue;
    if (j * v > 500) break;
    r += j * v;
    if (r & 1) r ^= i; else r -= j;
  }
  if (v % 3 == 0) { if (v % 2 == 0) r += 1000; else r -= 1000; }
  else if (v % 5 == 0) r *= 2;
  out[i] = r;
})");
  const int n = 4096;
  std::vector<int> in(n), out(n, 0);
  for (int i = 0; i < n; ++i) in[i] = static_cast<int>(Bits(i) % 400) - 100;
  ExpectSuccess(program.Run(Geometry(16, 256), in.data(), out.data(), n));
  for (int i = 0; i < n; ++i) {
    const int v = in[i];
    int r = 0;
    if (v < 0) {
      ASSERT_EQ(out[i], -v) << i;
      continue;
    }
    for (int j = 0; j < v % 7; ++j) {
      if (j == 3) continue;
      if (j * v > 500) break;
      r += j * v;
      if (r & 1) {
        r ^= i;
      } else {
        r -= j;
      }
    }
    if (v % 3 == 0) {
      r += v % 2 == 0 ? 1000 : -1000;
    } else if (v % 5 == 0) {
      r *= 2;
    }
    ASSERT_EQ(out[i], r) << "v " << v << " i " << i;
  }
}

TEST(KernelTest, ThreeDimensionalGridsAndBlocksKnowWhereTheyAre) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  unsigned w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
  out[(z * h + y) * w + x] = x | y << 10 | z << 20;
})");
  LaunchGeometry geometry;
  const uint32_t grid[3] = {3, 5, 2}, block[3] = {6, 7, 3};
  std::copy_n(grid, 3, geometry.grid);
  std::copy_n(block, 3, geometry.block);
  const uint32_t w = 18, h = 35, d = 6;
  std::vector<uint32_t> out(w * h * d, 0);
  ExpectSuccess(program.Run(geometry, out.data()));
  for (uint32_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(out[i], i % w | i / w % h << 10 | i / w / h << 20);
  }
}

TEST(KernelTest, IntegerArithmeticOfAllWidthsIsTheHosts) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* a, const int* b, long long* out,
                             int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = a[i], y = b[i] | 1;
  unsigned ux = x, uy = y;
  long long wide = (long long)x * y;
  out[8 * i + 0] = x / y;
  out[8 * i + 1] = x % y;
  out[8 * i + 2] = ux / uy;
  out[8 * i + 3] = ux % uy;
  out[8 * i + 4] = (wide >> (y & 31)) ^ (wide << (x & 15));
  out[8 * i + 5] = (x >> (uy & 31)) + (long long)(ux >> (uy & 31));
  out[8 * i + 6] = wide / (y | 0x10001LL) + min(x, y) - max(ux, uy);
  out[8 * i + 7] = (int)((short)x + (signed char)y +
                         (unsigned short)y * (unsigned)abs(x >> 8));
})");
  const int n = 2000;
  std::vector<int> a(n), b(n);
  std::vector<int64_t> out(8 * n);
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<int>(Bits(i));
    b[i] = static_cast<int>(Bits(i + 77777)) >> (i % 30);
  }
  ExpectSuccess(
      program.Run(Geometry(20, 100), a.data(), b.data(), out.data(), n));
  for (int i = 0; i < n; ++i) {
    const int x = a[i], y = b[i] | 1;
    const uint32_t ux = x, uy = y;
    const int64_t wide = int64_t{x} * y;
    const int64_t* o = &out[8 * i];
    ASSERT_EQ(o[0], x / y) << i;
    ASSERT_EQ(o[1], x % y) << i;
    ASSERT_EQ(o[2], ux / uy) << i;
    ASSERT_EQ(o[3], ux % uy) << i;
    ASSERT_EQ(o[4],
              (wide >> (y & 31)) ^
                  static_cast<int64_t>(static_cast<uint64_t>(wide) << (x & 15)))
        << i;
    ASSERT_EQ(o[5], (x >> (uy & 31)) + int64_t{ux >> (uy & 31)}) << i;
    ASSERT_EQ(o[6], wide / (y | 0x10001LL) + std::min(x, y) -
                        int64_t{std::max(ux, uy)})
        << i;
    ASSERT_EQ(o[7], static_cast<int>(
                        static_cast<int16_t>(x) + static_cast<int8_t>(y) +
                        uint32_t{static_cast<uint16_t>(y)} * std::abs(x >> 8)))
        << i;
  }
}

TEST(KernelTest, FloatingPointIsIeee) {
  KernelProgram program(R"(
extern "C" __global__ void k(const float* a, const float* b, float* out,
                             int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i];
  out[6 * i + 0] = x / y;
  out[6 * i + 1] = sqrtf(x);
  out[6 * i + 2] = fminf(x, y);
  out[6 * i + 3] = fmaxf(x, y);
  out[6 * i + 4] = fmaf(x, y, 1.0f);
  out[6 * i + 5] = x < y ? -fabsf(x) : x == y ? 1.0f : 2.0f;
})");
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> edges = {
      0.0f,  -0.0f,  1.0f,   -1.0f, 3.0f, 0.1f, 1e-45f, -1e-40f,
      1e38f, -1e38f, 1e-38f, inf,   -inf, nan,  7e20f,  0.333333f};
  std::vector<float> a, b;
  for (const float x : edges) {
    for (const float y : edges) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const int n = static_cast<int>(a.size());
  std::vector<float> out(6 * n);
  ExpectSuccess(
      program.Run(Geometry(3, 96), a.data(), b.data(), out.data(), n));
  const auto same = [](float x, float y) {
    return (std::isnan(x) && std::isnan(y)) ||
           (x == y && std::signbit(x) == std::signbit(y));
  };
  for (int i = 0; i < n; ++i) {
    const float x = a[i], y = b[i];
    const float* o = &out[6 * i];
    EXPECT_TRUE(same(o[0], x / y)) << x << " / " << y << " is " << o[0];
    EXPECT_TRUE(same(o[1], std::sqrt(x))) << "sqrt " << x << " is " << o[1];
    const float low = std::isnan(x) ? y : std::isnan(y) ? x : std::min(x, y);
    const float high = std::isnan(x) ? y : std::isnan(y) ? x : std::max(x, y);
    EXPECT_TRUE(low == o[2] || same(low, o[2])) << x << ", " << y;
    EXPECT_TRUE(high == o[3] || same(high, o[3])) << x << ", " << y;
    EXPECT_TRUE(same(o[4], std::fma(x, y, 1.0f))) << x << " * " << y;
    const float chosen = x < y ? -std::fabs(x) : x == y ? 1.0f : 2.0f;
    EXPECT_TRUE(same(o[5], chosen)) << x << ", " << y;
  }
}

TEST(KernelTest, ConversionsSaturateAndRoundAsCudaSays) {
  KernelProgram program(R"(
extern "C" __global__ void k(const float* a, long long* out, double* back,
                             int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i];
  out[4 * i + 0] = (int)x;
  out[4 * i + 1] = (unsigned)x;
  out[4 * i + 2] = __float2int_rn(x);
  out[4 * i + 3] = __float2int_rd(x) - __float2int_ru(x);
  back[i] = (double)(float)(int)x + (double)x;
})");
  const std::vector<float> a = {0.0f,
                                0.5f,
                                1.5f,
                                2.5f,
                                -0.5f,
                                -1.5f,
                                -2.7f,
                                1e9f,
                                3e9f,
                                1e20f,
                                -3e9f,
                                123.75f,
                                std::numeric_limits<float>::quiet_NaN()};
  const int n = static_cast<int>(a.size());
  std::vector<int64_t> out(4 * n);
  std::vector<double> back(n);
  ExpectSuccess(
      program.Run(Geometry(1, 32), a.data(), out.data(), back.data(), n));
  const auto clamp = [](double x, double low, double high) -> int64_t {
    if (std::isnan(x)) return 0;
    return static_cast<int64_t>(x < low ? low : x > high ? high : x);
  };
  constexpr double kMin = -2147483648.0, kMax = 2147483647.0;
  for (int i = 0; i < n; ++i) {
    const double x = a[i];
    EXPECT_EQ(out[4 * i + 0], clamp(std::trunc(x), kMin, kMax)) << x;
    EXPECT_EQ(out[4 * i + 1], clamp(std::trunc(x), 0, 4294967295.0)) << x;
    EXPECT_EQ(out[4 * i + 2], clamp(std::nearbyint(x), kMin, kMax)) << x;
    EXPECT_EQ(out[4 * i + 3],
              static_cast<int32_t>(clamp(std::floor(x), kMin, kMax) -
                                   clamp(std::ceil(x), kMin, kMax)))
        << x;
  }
}

TEST(KernelTest, StridedAndScatteredAccessFindsTheRightElements) {
  KernelProgram program(R"(
extern "C" __global__ void k(const int* in, const int* index, int* out,
                             int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[index[i]] = in[(i * 7) % n];
    out[n + i] = in[n - 1 - i];
    out[2 * n + i] = in[5];
  }
})");
  const int n = 1021;
  std::vector<int> in(n), index(n), out(3 * n, -1);
  for (int i = 0; i < n; ++i) {
    in[i] = static_cast<int>(Bits(i));
    index[i] = (i * 13) % n;
  }
  ExpectSuccess(
      program.Run(Geometry(4, 256), in.data(), index.data(), out.data(), n));
  for (int i = 0; i < n; ++i) {
    ASSERT_EQ(out[(i * 13) % n], in[(i * 7) % n]) << i;
    ASSERT_EQ(out[n + i], in[n - 1 - i]) << i;
    ASSERT_EQ(out[2 * n + i], in[5]) << i;
  }
}

// Full code takes it that neighbours' indices do not wrap. A warp where they do
// goes on elsewhere, with values of every shape, and past barriers.
TEST(KernelTest, IndicesThatWrapInTheMiddleOfAWarp) {
  KernelProgram program(R"(
extern "C" __global__ void k(const unsigned* in, unsigned long long* out,
                             unsigned rounds) {
  __shared__ unsigned s[96];
  const unsigned t = threadIdx.x;
  const bool odd = t & 1, many = rounds > 3;
  unsigned mine = in[t], common = rounds;
  unsigned long long total = 0;
#pragma unroll 1
  for (unsigned r = 0; r < rounds; ++r) {
    s[t] = mine + r;
    __syncthreads();
    const unsigned long long wide = t - 2 * r;
    total += wide * (odd ? 3 : 1) + s[95 - t] + (many ? common : 0);
    common = common * 5 + 1;
    __syncthreads();
    mine ^= (unsigned)total;
  }
  out[t] = total;
})");
  constexpr uint32_t kThreads = 96, kRounds = 40;
  std::vector<uint32_t> in(kThreads), mine(kThreads);
  std::vector<uint64_t> out(kThreads), total(kThreads, 0);
  for (uint32_t t = 0; t < kThreads; ++t) mine[t] = in[t] = Bits(t);
  uint32_t common = kRounds;
  for (uint32_t r = 0; r < kRounds; ++r, common = common * 5 + 1) {
    std::vector<uint32_t> s(kThreads);
    for (uint32_t t = 0; t < kThreads; ++t) s[t] = mine[t] + r;
    for (uint32_t t = 0; t < kThreads; ++t) {
      const uint64_t wide = t - 2 * r;
      total[t] += wide * (t % 2 != 0 ? 3 : 1) + s[kThreads - 1 - t] + common;
      mine[t] ^= static_cast<uint32_t>(total[t]);
    }
  }
  ExpectSuccess(
      program.Run(Geometry(1, kThreads), in.data(), out.data(), kRounds));
  EXPECT_EQ(out, total);
}

TEST(KernelTest, GlobalAndConstantVariablesHaveTheirInitialValues) {
  KernelProgram program(R"(
__constant__ int table[4] = {3, 1, 4, 1};
__device__ float scale = 2.5f;
__device__ const char text[] = "abc";
extern "C" __global__ void k(float* out) {
  out[threadIdx.x] = table[threadIdx.x % 4] * scale + text[threadIdx.x % 3];
})");
  std::vector<float> out(64);
  ExpectSuccess(program.Run(Geometry(1, 64), out.data()));
  const int table[] = {3, 1, 4, 1};
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(out[i], table[i % 4] * 2.5f + "abc"[i % 3]) << i;
  }
  ASSERT_EQ(program.executable().globals().size(), 3u);
}

TEST(KernelTest, AnAccessOutsideMemoryEndsTheLaunchAndNamesThePlace) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 300) out[i + (1ull << 44)] = 1; else out[i] = 1;
})");
  std::vector<int> out(512);
  const LaunchOutcome outcome = program.Run(Geometry(4, 128), out.data());
  EXPECT_EQ(outcome.result, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(outcome.message.find("kernel k, block (2,0,0)"), std::string::npos)
      << outcome.message;
  EXPECT_NE(outcome.message.find("thread (44,0,0), PTX line "),
            std::string::npos)
      << outcome.message;
}

TEST(KernelTest, AKernelThatNeverEndsCanBeGivenUp) {
  KernelProgram program(R"(
extern "C" __global__ void k(volatile int* flag, int* out) {
  int n = 0;
  while (out[0] == 0) ++n;
  out[1] = n;
})");
  // Run gives no cancel flag, so the launch is made by hand.
  int out[2] = {0, 0};
  struct {
    int* flag;
    int* out;
  } arguments = {out, out};
  const std::atomic<bool> cancelled{true};
  auto& executable = const_cast<Executable&>(program.executable());
  EXPECT_EQ(
      executable.Launch(0, Geometry(1, 32), &arguments, &cancelled).result,
      CUDA_ERROR_LAUNCH_TIMEOUT);
}

// Code without a loop does not look whether it is cancelled, so the blocks that
// a thread has taken run to their ends: for seconds at most, where a million
// blocks of one thread would run for a quarter of a minute.
// What waits for a number of cycles computes it from the clock's rate.
TEST(KernelTest, TheClockHasTheRateThatTheDeviceTells) {
  KernelProgram program(R"(extern "C" __global__ void k(long long* out) {
    unsigned long long from, to;
    const long long begin = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(from));
    do {
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(to));
    } while (to - from < 20000000);
    out[0] = clock64() - begin;
    out[1] = to - from;
  })");
  std::vector<long long> out(2);
  ExpectSuccess(program.Run(Geometry(1, 1), out.data()));
  // CU_DEVICE_ATTRIBUTE_CLOCK_RATE is 1 GHz.
  EXPECT_GE(out[0], out[1]);
  EXPECT_LT(out[0], out[1] * 3 / 2);
}

TEST(KernelTest, TheLargestGridCanBeGivenUp) {
  std::string source = R"(extern "C" __global__ void k(volatile int* out) {
    out += threadIdx.x * 5 % 32;)";
  for (int i = 0; i < 1000; ++i) source += "*out = 1;";
  KernelProgram program(source + "}");
  std::vector<int> out(32);
  // Compiled before it is cancelled.
  ExpectSuccess(program.Run(Geometry(1, 1), out.data()));
  LaunchGeometry geometry;
  geometry.grid[0] = std::numeric_limits<int32_t>::max();
  geometry.grid[1] = geometry.grid[2] = 65535;
  std::atomic<bool> cancelled{false};
  std::thread canceller([&cancelled] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancelled = true;
  });
  const int* argument = out.data();
  auto& executable = const_cast<Executable&>(program.executable());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(executable.Launch(0, geometry, &argument, &cancelled).result,
            CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  canceller.join();
}

TEST(LoadTest, WhatIsNotSupportedIsRefusedWithItsLine) {
  std::unique_ptr<Executable> executable;
  std::string log;
  EXPECT_EQ(Executable::Load(".version 9.0\n.target sm_90\n.address_size 64\n"
                             ".visible .entry k()\n{\n  frobnicate.b32;\n}\n",
                             &executable, &log),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(log.substr(0, 4), "6:3:") << log;
  log.clear();
  EXPECT_EQ(
      Executable::Load(".version 12.7\n.target sm_90\n", &executable, &log),
      CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
}

}  // namespace
}  // namespace holdfast::software
