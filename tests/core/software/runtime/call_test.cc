// SPDX-License-Identifier: Apache-2.0
//
// Calls of device functions, by name, through registers and recursive; local
// memory and malloc.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

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

TEST(CallTest, SharedVariablesOfAFunctionAreOneForAllItsCalls) {
  // kept() is called from two functions, inlined twice and recursively.
  KernelProgram program(R"(
__device__ __noinline__ int kept(int value, int store) {
  __shared__ int s[64];
  const int old = s[threadIdx.x];
  if (store) s[threadIdx.x] = value;
  return old;
}
__device__ __noinline__ int put(int v) { return kept(v + 1, 1); }
__device__ __noinline__ int get() { return kept(0, 0) * 2; }
__device__ __noinline__ int* place() { __shared__ int s[64]; return s; }
__device__ __noinline__ int sum(int depth) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = (depth == 3 ? 0 : s[t]) + depth;
  return depth > 0 ? sum(depth - 1) + s[t] : s[t];
}
extern "C" __global__ void k(int* out, int depth) {
  const int t = threadIdx.x;
  put(t * 3);
  place()[t] = t;
  __syncthreads();
  out[t] = get();
  out[64 + t] = place()[63 - t];
  out[128 + t] = sum(depth);
})");
  std::vector<int> out(192, 0);
  ExpectSuccess(program.Run(Geometry(1, 64), out.data(), 3));
  for (int t = 0; t < 64; ++t) {
    EXPECT_EQ(out[t], (t * 3 + 1) * 2) << t;
    EXPECT_EQ(out[64 + t], 63 - t) << t;
    EXPECT_EQ(out[128 + t], 24) << t;
  }
}

TEST(CallTest, SidesOfABranchMeetInTheSharedVariableOfAFunction) {
  KernelProgram program(R"(
__device__ __noinline__ int exchange(int v) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = v;
  __barrier_sync(0);
  const int other = s[t ^ 1];
  __barrier_sync(0);
  return other;
}
extern "C" __global__ void k(int* out) {
  const int t = threadIdx.x;
  int r;
  if (t & 1) r = exchange(t + 100); else r = exchange(t + 200);
  out[t] = r;
})");
  std::vector<int> out(64, 0);
  ExpectSuccess(program.Run(Geometry(1, 64), out.data()));
  for (int t = 0; t < 64; ++t) {
    EXPECT_EQ(out[t], (t ^ 1) + (t % 2 == 0 ? 100 : 200)) << t;
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

TEST(RecursionTest, ThreadsOfAWarpAreAtDifferentDepths) {
  KernelProgram program(R"(
__device__ __noinline__ unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void k(unsigned* out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  out[t] = fib(t % 13);
})");
  std::vector<unsigned> out(2 * 50), fib = {0, 1};
  for (int i = 2; i < 13; ++i) fib.push_back(fib[i - 1] + fib[i - 2]);
  ExpectSuccess(program.Run(Geometry(2, 50), out.data()));
  for (int t = 0; t < 100; ++t) EXPECT_EQ(out[t], fib[t % 13]) << t;
}

TEST(RecursionTest, FunctionsThatCallEachOtherKeepTheirLocalVariables) {
  KernelProgram program(R"(
__device__ __noinline__ int odd(int n, int* trace);
__device__ __noinline__ int even(int n, int* trace) {
  int own[4];
  for (int i = 0; i < 4; ++i) own[(i + n) % 4] = n * 10 + i;
  int below = n == 0 ? 1 : odd(n - 1, own);
  for (int i = 0; i < 4; ++i) if (own[(i + n) % 4] != n * 10 + i + (i == 2 && n ? 1 : 0)) return -1000;
  trace[(2 + n + 1) % 4] += 1;
  return below;
}
__device__ __noinline__ int odd(int n, int* trace) {
  if (n == 0) { trace[(2 + 1) % 4] += 1; return 0; }
  int own[4] = {0, 0, 0, 0};
  int below = even(n - 1, own);
  trace[(2 + n + 1) % 4] += 1;
  return own[(2 + n) % 4] == 1 ? below : -2000;
}
extern "C" __global__ void k(int* out) {
  int trace[4] = {0, 0, 0, 0};
  out[threadIdx.x] = even(threadIdx.x % 20, trace);
})");
  int out[64];
  ExpectSuccess(program.Run(Geometry(1, 64), +out));
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[t], t % 20 % 2 == 0) << t;
}

TEST(RecursionTest, WithoutEndIsAnErrorThatNamesTheThread) {
  KernelProgram program(R"(
__device__ __noinline__ int deep(int n) { return n == 0 ? 0 : 1 + deep(n + 1) * 2; }
extern "C" __global__ void k(int* out) {
  if (threadIdx.x == 33) out[0] = deep(1);
})");
  int out[1] = {};
  const LaunchOutcome outcome = program.Run(Geometry(1, 64), +out);
  EXPECT_EQ(outcome.result, CUDA_ERROR_HARDWARE_STACK_ERROR);
  EXPECT_NE(outcome.message.find("thread (33,0,0)"), std::string::npos)
      << outcome.message;
}

// Each function calls the next one twice: with copies, the last one would be
// there 2^24 times.
TEST(RepeatedCallTest, ATreeOfCallsNeedsNoCopyForEachOfThem) {
  KernelProgram program(R"(
template <int N> struct Tree {
  static __device__ __noinline__ unsigned sum(unsigned x, unsigned depth) {
    unsigned own[3] = {x, x * 5 + N, depth};
    if (depth == N) return own[x % 3];
    return Tree<N - 1>::sum(own[x % 2], depth) * 3 + Tree<N - 1>::sum(x + N, depth) + own[N % 3];
  }
};
template <> struct Tree<0> {
  static __device__ __noinline__ unsigned sum(unsigned x, unsigned) { return x ^ 7; }
};
extern "C" __global__ void k(unsigned* out, const unsigned* depths) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  out[t] = Tree<24>::sum(t, depths[t]);
})");
  struct Host {
    static unsigned Sum(unsigned n, unsigned x, unsigned depth) {
      if (n == 0) return x ^ 7;
      const unsigned own[3] = {x, x * 5 + n, depth};
      if (depth == n) return own[x % 3];
      return Sum(n - 1, own[x % 2], depth) * 3 + Sum(n - 1, x + n, depth) +
             own[n % 3];
    }
  };
  std::vector<unsigned> out(2 * 50), depths(100);
  for (unsigned t = 0; t < 100; ++t) depths[t] = 16 + t % 9;
  ExpectSuccess(program.Run(Geometry(2, 50), out.data(), depths.data()));
  for (unsigned t = 0; t < 100; ++t) {
    EXPECT_EQ(out[t], Host::Sum(24, t, depths[t])) << t;
  }
}

// 24 frames of 4 KiB are more than the stack of recursive functions.
TEST(RepeatedCallTest, EachFunctionOfAChainHasRoomForItsVariables) {
  KernelProgram program(R"(
template <int N> struct Chain {
  static __device__ __noinline__ unsigned sum(unsigned x) {
    unsigned own[1024];
#pragma unroll 1
    for (int i = 0; i < 1024; ++i) own[i] = x + i;
    const unsigned below = x % 3 ? Chain<N - 1>::sum(own[(x + N) % 1024]) : Chain<N - 1>::sum(x + N);
    return below + own[x % 1024];
  }
};
template <> struct Chain<0> {
  static __device__ __noinline__ unsigned sum(unsigned x) { return x; }
};
extern "C" __global__ void k(unsigned* out) { out[threadIdx.x] = Chain<24>::sum(threadIdx.x); })");
  struct Host {
    static unsigned Sum(unsigned n, unsigned x) {
      if (n == 0) return x;
      return Sum(n - 1, x % 3 ? x + (x + n) % 1024 : x + n) + x + x % 1024;
    }
  };
  std::vector<unsigned> out(40);
  ExpectSuccess(program.Run(Geometry(1, 40), out.data()));
  for (unsigned t = 0; t < 40; ++t) EXPECT_EQ(out[t], Host::Sum(24, t)) << t;
}

TEST(PointerTest, EachThreadCallsWhatItsPointerSays) {
  KernelProgram program(R"(
struct Big { double x; int y; char z; };
__device__ __noinline__ Big add(Big a, int b) { a.x += b; a.y -= b; a.z = 'a'; return a; }
__device__ __noinline__ Big times(Big a, int b) { a.x *= b; a.y *= b; a.z = 't'; return a; }
__device__ __noinline__ Big nothing(Big a, int) { return a; }
typedef Big (*Function)(Big, int);
__device__ Function functions[3] = {add, times, nothing};
extern "C" __global__ void k(double* x, int* y, const int* which) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  Big big = {t * 0.5, t, 'n'};
  int keep = which[t] * 7;
  for (int i = 1; i <= 3; ++i) big = functions[(which[t] + i) % 3](big, i);
  x[t] = big.x + big.z; y[t] = big.y + keep;
})");
  const int n = 200;
  std::vector<double> x(n);
  std::vector<int> y(n), which(n);
  for (int t = 0; t < n; ++t) which[t] = t * t % 7 % 3;
  ExpectSuccess(
      program.Run(Geometry(2, 100), x.data(), y.data(), which.data()));
  for (int t = 0; t < n; ++t) {
    double ex = t * 0.5;
    int ey = t, z = 'n';
    for (int i = 1; i <= 3; ++i) {
      const int f = (which[t] + i) % 3;
      if (f == 0) ex += i, ey -= i, z = 'a';
      if (f == 1) ex *= i, ey *= i, z = 't';
    }
    EXPECT_EQ(x[t], ex + z) << t;
    EXPECT_EQ(y[t], ey + which[t] * 7) << t;
  }
}

// Threads come to the call one after the other, as their recursions end.
TEST(PointerTest, BehindARecursionOfEachThreadsDepthToo) {
  KernelProgram program(R"(
typedef unsigned long long u64;
__device__ __noinline__ u64 rec(int n, u64 a) {
  if (n <= 0) return a ^ 5;
  u64 l[3] = {a, a * 3, a + n};
  return rec(n - 1, l[a % 3]) * 31 + rec(n - 2 - (int)(a & 1), l[(a + 1) % 3]);
}
__device__ u64 fa(u64 a, u64 b) { return a * b + 1; }
__device__ u64 fb(u64 a, u64 b) { return (a ^ b) >> 3; }
__device__ u64 fc(u64 a, u64 b) { return a > b ? a - b : b; }
extern "C" __global__ void k(u64* out) {
  u64 (*table[3])(u64, u64) = {fa, fb, fc};
  u64 x = 12345 + threadIdx.x * 77;
  u64 w = rec((int)(x % 5), x);
  out[threadIdx.x] = w + table[x % 3](x, w);
})");
  struct Host {
    static uint64_t Rec(int n, uint64_t a) {
      if (n <= 0) return a ^ 5;
      const uint64_t l[3] = {a, a * 3, a + static_cast<uint64_t>(n)};
      return Rec(n - 1, l[a % 3]) * 31 +
             Rec(n - 2 - static_cast<int>(a & 1), l[(a + 1) % 3]);
    }
  };
  for (const uint32_t threads : {1u, 31u, 32u, 40u}) {
    std::vector<uint64_t> out(threads, 0);
    ExpectSuccess(program.Run(Geometry(1, threads), out.data()));
    for (uint32_t t = 0; t < threads; ++t) {
      const uint64_t x = 12345 + uint64_t{t} * 77;
      const uint64_t w = Host::Rec(static_cast<int>(x % 5), x);
      const uint64_t called[] = {x * w + 1, (x ^ w) >> 3, x > w ? x - w : w};
      EXPECT_EQ(out[t], w + called[x % 3]) << t << " of " << threads;
    }
  }
}

TEST(PointerTest, ACallOfNoFunctionNamesTheThread) {
  KernelProgram program(R"(
__device__ __noinline__ int one(int a) { return a + 1; }
typedef int (*Function)(int);
__device__ Function functions[2] = {one, 0};
extern "C" __global__ void k(int* out, const int* which) {
  out[threadIdx.x] = functions[which[threadIdx.x]](threadIdx.x);
})");
  int out[64], which[64] = {};
  ExpectSuccess(program.Run(Geometry(1, 64), +out, +which));
  EXPECT_EQ(out[63], 64);
  which[40] = 1;
  const LaunchOutcome outcome = program.Run(Geometry(1, 64), +out, +which);
  EXPECT_EQ(outcome.result, CUDA_ERROR_INVALID_PC);
  EXPECT_NE(outcome.message.find("thread (40,0,0)"), std::string::npos)
      << outcome.message;
}

TEST(BranchTableTest, EachThreadTakesItsEntry) {
  KernelProgram program(R"(
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  unsigned v;
  asm volatile("{ table: .branchtargets L0, L1, L2, L1, L3;\n"
               " brx.idx %1, table;\n"
               " L0: mov.u32 %0, 100; bra.uni end;\n"
               " L1: add.u32 %0, %1, 200; bra.uni end;\n"
               " L2: mov.u32 %0, 300; bra.uni end;\n"
               " L3: mov.u32 %0, 400;\n"
               " end: }" : "=r"(v) : "r"(in[threadIdx.x]));
  out[threadIdx.x] = v;
})");
  unsigned in[64], out[64];
  const unsigned expected[] = {100, 201, 300, 203, 400};
  for (unsigned t = 0; t < 64; ++t) in[t] = t < 32 ? 3 : t * 3 % 5;
  ExpectSuccess(program.Run(Geometry(1, 64), +in, +out));
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[t], expected[in[t]]) << t;
}

// Calls of hand-written PTX. `functions` are in front of the kernel, whose
// `body` has its thread in r1 and 16 bytes of its own at [a0].
std::vector<uint32_t> RunPtx(const std::string& functions,
                             const std::string& body) {
  const std::string ptx =
      ".version 8.6\n.target sm_90\n.address_size 64\n" + functions +
      ".visible .entry k(.param .u64 po) {\n"
      "  .reg .b32 r<8>; .reg .f32 f<4>; .reg .b64 a<4>; .reg .pred p<4>;\n"
      "  ld.param.u64 a0, [po]; mov.u32 r1, %tid.x;\n"
      "  mad.wide.u32 a0, r1, 16, a0;\n" +
      body + "  ret;\n}\n";
  std::unique_ptr<Executable> executable;
  std::string log;
  EXPECT_EQ(Executable::Load(ptx, &executable, &log), CUDA_SUCCESS) << log;
  std::vector<uint32_t> out(4 * 40, 99);
  if (executable == nullptr) return out;
  const void* const parameters[] = {out.data()};
  ExpectSuccess(executable->Launch(0, Geometry(1, 40), parameters, nullptr));
  return out;
}

TEST(PtxCallTest, RegistersArePassedToRegisters) {
  const std::vector<uint32_t> out = RunPtx(
      R"(.func (.reg .b32 x, .reg .u32 y) two(.reg .b32 a, .reg .f32 b) {
  .reg .f32 q; add.u32 x, a, 1; add.f32 q, b, 0f40000000; cvt.rzi.u32.f32 y, q; ret;
}
)",
      "  cvt.rn.f32.u32 f1, r1;\n  call (r2, r3), two, (r1, f1);\n"
      "  st.global.v2.u32 [a0], {r2, r3};\n");
  for (uint32_t t = 0; t < 40; ++t) {
    EXPECT_EQ(out[4 * t], t + 1);
    EXPECT_EQ(out[4 * t + 1], t + 2);
  }
}

// As ptxas has it, an index counts numbers of the array's type, also where the
// array has vectors.
TEST(PtxOperandTest, ElementsOfArraysAreAddressesOrMemory) {
  const std::vector<uint32_t> out = RunPtx(
      ".global .align 16 .v4 .u32 vectors[2] = {{5, 6, 7, 8}, {9, 10, 11, 12}};"
      "\n.const .u16 halves[2][4] = {{1, 2, 3, 4}, {50, 60, 70, 80}};\n",
      "  .shared .align 4 .b8 bytes[160]; .shared .u32 words[40];\n"
      "  mov.u64 a1, bytes[0]; mad.wide.u32 a1, r1, 4, a1;\n"
      "  st.shared.u32 [a1], r1; st.shared.u32 words[3], 77; bar.sync 0;\n"
      "  ld.shared.u32 r2, bytes[4 * 7]; ld.shared.u32 r3, words[3];\n"
      "  ld.global.u32 r4, vectors[5]; mov.u64 a2, halves[7 - 1];\n"
      "  ld.const.u16 r5, [a2]; st.global.v4.u32 [a0], {r2, r3, r4, r5};\n");
  for (uint32_t t = 0; t < 40; ++t) {
    EXPECT_EQ(std::vector<uint32_t>(&out[4 * t], &out[4 * t] + 4),
              (std::vector<uint32_t>{7, 77, 10, 70}));
  }
}

TEST(PtxOperandTest, RegistersCanBeVectors) {
  const std::vector<uint32_t> out = RunPtx(
      ".global .align 16 .u32 four[4] = {1, 2, 3, 4};\n",
      "  .reg .v4 .u32 v; .reg .v2 .b32 %pair<3>;\n"
      "  ld.global.v4.u32 v, [four]; add.u32 v.y, v.x, v.a;\n"
      "  mov.b64 a1, {v.z, r1}; mov.b64 %pair2, a1; mov.b32 v.r, %pair2.y;\n"
      "  { .reg .v4 .u32 v; mov.u32 v.x, 99; }\n"
      "  st.global.v4.u32 [a0], v;\n");
  for (uint32_t t = 0; t < 40; ++t) {
    EXPECT_EQ(std::vector<uint32_t>(&out[4 * t], &out[4 * t] + 4),
              (std::vector<uint32_t>{t, 5, 3, 4}));
  }
}

// NVVM writes a pointer in a packed struct byte by byte, and Clang writes
// .alias for constructors of one body.
TEST(PtxOperandTest, AddressesStandInBytesAndFunctionsHaveAliases) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&bytes, ", 0xFF", std::string(2 * i, '0'),
                    "(generic(pair)+4)");
  }
  const std::vector<uint32_t> out = RunPtx(
      ".global .align 4 .u32 pair[2] = {1, 77};\n"
      ".global .align 1 .u8 packed[13] = {9" +
          bytes +
          ", 254, 255, 3, 4};\n"
          ".visible .func (.param .b32 x) other(.param .b32 a);\n"
          ".func (.param .b32 x) one(.param .b32 a) {\n  .reg .u32 q;"
          " ld.param.u32 q, [a]; add.u32 q, q, 5; st.param.u32 [x], q; "
          "ret;\n}\n"
          ".alias other, one;\n",
      "  .reg .u64 b<9>; mov.u64 a1, 0; mov.u64 a2, 0;\n"
      "  ld.global.u8 b1, [packed+1]; ld.global.u8 b2, [packed+2];\n"
      "  ld.global.u8 b3, [packed+3]; ld.global.u8 b4, [packed+4];\n"
      "  ld.global.u8 b5, [packed+5]; ld.global.u8 b6, [packed+6];\n"
      "  ld.global.u8 b7, [packed+7]; ld.global.u8 b8, [packed+8];\n"
      "  mad.lo.u64 b7, b8, 256, b7; mad.lo.u64 b6, b7, 256, b6;\n"
      "  mad.lo.u64 b5, b6, 256, b5; mad.lo.u64 b4, b5, 256, b4;\n"
      "  mad.lo.u64 b3, b4, 256, b3; mad.lo.u64 b2, b3, 256, b2;\n"
      "  mad.lo.u64 b1, b2, 256, b1; ld.u32 r2, [b1];\n"
      "  ld.global.s8 r3, [packed+9]; ld.global.u8 r4, [packed+12];\n"
      "  { .param .b32 p; .param .b32 x; st.param.b32 [p], r1;"
      " call (x), other, (p); ld.param.b32 r5, [x]; }\n"
      "  st.global.v4.u32 [a0], {r2, r3, r4, r5};\n");
  for (uint32_t t = 0; t < 40; ++t) {
    EXPECT_EQ(std::vector<uint32_t>(&out[4 * t], &out[4 * t] + 4),
              (std::vector<uint32_t>{77, 0xfffffffe, 4, t + 5}));
  }
}

constexpr char kSum[] =
    R"(.func (.param .b32 x) sum(.param .b32 a, .param .b32 c) {
  .reg .u32 q, w; ld.param.u32 q, [a]; ld.param.u32 w, [c]; add.u32 q, q, w; st.param.u32 [x], q; ret;
}
)";

TEST(PtxCallTest, RegistersAndConstantsArePassedToParameters) {
  const std::vector<uint32_t> out =
      RunPtx(kSum,
             "  call (r2), sum, (r1, 7);\n  call (r3), sum, (100, r2);\n"
             "  setp.lt.u32 p1, r1, 20;\n  mov.u32 r4, 5;\n"
             "  @p1 call (r4), sum, (r3, r3);\n"
             "  st.global.v4.u32 [a0], {r2, r3, r4, r1};\n");
  for (uint32_t t = 0; t < 40; ++t) {
    EXPECT_EQ(out[4 * t], t + 7);
    EXPECT_EQ(out[4 * t + 1], t + 107);
    EXPECT_EQ(out[4 * t + 2], t < 20 ? 2 * (t + 107) : 5);
  }
}

TEST(PtxCallTest, AFunctionThatCallsItselfGetsConstants) {
  const std::vector<uint32_t> out = RunPtx(
      R"(.func (.param .b32 x) power(.param .b32 a, .param .b32 n, .param .b32 m) {
  .reg .u32 q, w, l; .reg .pred p;
  ld.param.u32 q, [a]; ld.param.u32 w, [n]; ld.param.u32 l, [m];
  setp.eq.u32 p, w, 0; @p bra D;
  sub.u32 w, w, 1; call (q), power, (q, w, 3); mul.lo.u32 l, q, l;
D: st.param.u32 [x], l; ret;
}
)",
      "  call (r2), power, (r1, 4, 1);\n  st.global.u32 [a0], r2;\n");
  for (uint32_t t = 0; t < 40; ++t) EXPECT_EQ(out[4 * t], 81u);
}

TEST(PtxCallTest, ARegisterOfAnotherSizeIsRefusedAtTheLoad) {
  for (const char* call :
       {"call (a), sum, (r2, r2);", "call (r2), sum, (a, r2);",
        "call (p), sum, (r2, r2);"}) {
    std::unique_ptr<Executable> executable;
    std::string log;
    const std::string ptx =
        std::string(".version 8.6\n.target sm_90\n.address_size 64\n") + kSum +
        ".visible .entry k() { .reg .b32 r<4>; .reg .b64 a; .reg .pred p;\n" +
        call + " ret; }\n";
    Executable::Load(ptx, &executable, &log);
    const std::string told =
        executable == nullptr ? log : executable->kernels()[0].unsupported;
    EXPECT_NE(told.find("has another size"), std::string::npos)
        << call << ": " << told;
  }
}

TEST(PtxCallTest, ACallThroughARegisterRefusesConstants) {
  std::unique_ptr<Executable> executable;
  std::string log;
  const std::string ptx =
      std::string(".version 8.6\n.target sm_90\n.address_size 64\n") + kSum +
      ".visible .entry k() { .reg .b32 r<4>; .reg .b64 a; mov.u64 a, sum;\n"
      "PT: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n"
      "call (r2), a, (r2, 7), PT; ret; }\n";
  Executable::Load(ptx, &executable, &log);
  const std::string told =
      executable == nullptr ? log : executable->kernels()[0].unsupported;
  EXPECT_NE(told.find("passes no constants"), std::string::npos) << told;
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

TEST(MallocTest, ABlockThatIsFreedTwiceEndsTheLaunch) {
  KernelProgram program(R"(
extern "C" __global__ void k(int times) {
  void* p = malloc(64);
  if (threadIdx.x != 5) times = 1;
  for (int i = 0; i < times; ++i) free(p);
})");
  ExpectSuccess(program.Run(Geometry(1, 32), 1));
  const LaunchOutcome outcome = program.Run(Geometry(1, 32), 2);
  EXPECT_EQ(outcome.result, CUDA_ERROR_LAUNCH_FAILED);
  for (const char* text :
       {"kernel k, block (0,0,0), thread (5,0,0), PTX line ",
        ": call: free of 0x", ", which has been freed already"}) {
    EXPECT_NE(outcome.message.find(text), std::string::npos) << outcome.message;
  }
}

}  // namespace
}  // namespace holdfast::software
