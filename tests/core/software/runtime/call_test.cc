// SPDX-License-Identifier: Apache-2.0
//
// Calls of device functions, local memory, printf, assert and malloc.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

LaunchGeometry Geometry(uint32_t grid, uint32_t block) {
  LaunchGeometry geometry;
  geometry.grid[0] = grid;
  geometry.block[0] = block;
  return geometry;
}

void ExpectSuccess(const LaunchOutcome& outcome) {
  ASSERT_EQ(outcome.result, CUDA_SUCCESS) << outcome.message;
}

TEST(CallTest, NestedFunctionsPassNumbersStructsAndPointers) {
  KernelProgram program(R"(
struct Pair { int a; double b; };
__noinline__ __device__ int twice(int x) { return 2 * x; }
__noinline__ __device__ Pair make(int x, float y) {
  Pair p; p.a = twice(x) + 1; p.b = y * 0.5; return p;
}
__noinline__ __device__ void store(int* out, Pair p) {
  if (p.a % 3 == 0) { *out = -p.a; return; }
  *out = p.a + (int)p.b;
}
extern "C" __global__ void k(int* out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  Pair p = make(t, t * 4.0f);
  if (t % 2) store(out + t, p); else out[t] = twice(p.a);
})");
  std::vector<int> out(200, 0);
  ExpectSuccess(program.Run(Geometry(2, 100), out.data()));
  for (int t = 0; t < 200; ++t) {
    const int a = 2 * t + 1;
    const int stored = a % 3 == 0 ? -a : a + 2 * t;
    EXPECT_EQ(out[t], t % 2 ? stored : 2 * a) << t;
  }
}

TEST(CallTest, LocalArraysAreEachThreadsOwn) {
  KernelProgram program(R"(
__noinline__ __device__ void fill(int* a, int n, int seed) {
  for (int i = 0; i < n; ++i) a[i] = seed * 100 + i;
}
extern "C" __global__ void k(int* out, int n) {
  int a[20];
  int t = threadIdx.x;
  fill(a, n, t);
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += a[(i * 7 + t) % n];
  out[blockIdx.x * blockDim.x + t] = sum;
})");
  const int n = 20;
  std::vector<int> out(3 * 70, 0);
  ExpectSuccess(program.Run(Geometry(3, 70), out.data(), n));
  for (int i = 0; i < 210; ++i) {
    const int t = i % 70;
    int sum = 0;
    for (int k = 0; k < n; ++k) sum += t * 100 + (k * 7 + t) % n;
    EXPECT_EQ(out[i], sum) << i;
  }
}

TEST(CallTest, LocalMemoryLivesAcrossBarriers) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out, int n) {
  __shared__ int s[128];
  int a[8];
  int t = threadIdx.x;
  for (int i = 0; i < n; ++i) a[i] = t + i;
  for (int i = 0; i < n; ++i) {
    s[t] = a[(i + t) % n];
    __syncthreads();
    a[(i + t) % n] = s[(t + 1) % 128];
    __syncthreads();
  }
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i] * (i + 1);
  out[t] = sum;
})");
  const int n = 8;
  std::vector<int> out(128, 0);
  ExpectSuccess(program.Run(Geometry(1, 128), out.data(), n));
  std::vector<std::vector<int>> a(128, std::vector<int>(n));
  for (int t = 0; t < 128; ++t) {
    for (int i = 0; i < n; ++i) a[t][i] = t + i;
  }
  for (int i = 0; i < n; ++i) {
    std::vector<int> s(128);
    for (int t = 0; t < 128; ++t) s[t] = a[t][(i + t) % n];
    for (int t = 0; t < 128; ++t) a[t][(i + t) % n] = s[(t + 1) % 128];
  }
  for (int t = 0; t < 128; ++t) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += a[t][i] * (i + 1);
    EXPECT_EQ(out[t], sum) << t;
  }
}

TEST(CallTest, TheMathLibraryAgreesWithTheHosts) {
  KernelProgram program(R"(
extern "C" __global__ void k(const float* in, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double* o = out + i * 8;
  float x = in[i];
  o[0] = expf(x); o[1] = logf(fabsf(x) + 1); o[2] = sinf(x * 1000); o[3] = powf(fabsf(x), 1.5f);
  o[4] = exp((double)x); o[5] = sin((double)x * 1e6); o[6] = erff(x); o[7] = cbrt((double)x);
})");
  const int n = 500;
  std::vector<float> in(n);
  std::vector<double> out(n * 8, 0);
  for (int i = 0; i < n; ++i) in[i] = (i - 250) * 0.07f;
  ExpectSuccess(program.Run(Geometry(4, 128), in.data(), out.data(), n));
  for (int i = 0; i < n; ++i) {
    const double x = in[i];
    const double expected[8] = {std::exp(x),
                                std::log(std::fabs(in[i]) + 1.0f),
                                std::sin(static_cast<double>(in[i] * 1000)),
                                std::pow(std::fabs(x), 1.5),
                                std::exp(x),
                                std::sin(x * 1e6),
                                std::erf(x),
                                std::cbrt(x)};
    for (int k = 0; k < 8; ++k) {
      const bool narrow = k < 4 || k == 6;
      EXPECT_NEAR(out[i * 8 + k], expected[k],
                  std::fabs(expected[k]) * (narrow ? 1e-6 : 1e-14) + 1e-14)
          << "function " << k << " of " << x;
    }
  }
}

TEST(PrintfTest, EveryThreadPrintsItsArguments) {
  KernelProgram program(R"(
extern "C" __global__ void k(int n) {
  printf("thread %d of %s: %5.2f %llx %c%%\n", threadIdx.x, "block", threadIdx.x * 1.5,
         0x123456789abcull + threadIdx.x, 'a' + threadIdx.x);
})");
  testing::internal::CaptureStdout();
  ExpectSuccess(program.Run(Geometry(1, 2), 0));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "thread 0 of block:  0.00 123456789abc a%\n"
            "thread 1 of block:  1.50 123456789abd b%\n");
}

TEST(AssertTest, AFailedAssertionNamesItselfAndEndsTheLaunch) {
  KernelProgram program(R"(
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
extern "C" __global__ void k(int n) {
  if (threadIdx.x == 5) __assertfail("n > 3", "kernel.cu", 17, "k", 1);
})");
  testing::internal::CaptureStderr();
  const LaunchOutcome outcome = program.Run(Geometry(1, 32), 0);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(outcome.result, CUDA_ERROR_ASSERT);
  EXPECT_NE(text.find("kernel.cu:17: k: block: [0,0,0], thread: [5,0,0] "
                      "Assertion `n > 3` failed."),
            std::string::npos)
      << text;
}

TEST(MallocTest, DeviceHeapGivesEachThreadItsOwnAndTakesItBack) {
  KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < 50; ++round) {
    int* p = (int*)malloc(1024);
    if (p == 0) { out[t] = -1; return; }
    for (int i = 0; i < 256; ++i) p[i] = t + i;
    int sum = 0;
    for (int i = 0; i < 256; ++i) sum += p[i];
    out[t] = sum;
    free(p);
  }
  if (malloc(1ull << 40) != 0) out[t] = -2;
})");
  std::vector<int> out(256, 0);
  ExpectSuccess(program.Run(Geometry(4, 64), out.data()));
  for (int t = 0; t < 256; ++t) EXPECT_EQ(out[t], 256 * t + 255 * 128) << t;
}

}  // namespace
}  // namespace holdfast::software
