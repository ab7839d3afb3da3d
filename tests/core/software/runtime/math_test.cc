// SPDX-License-Identifier: Apache-2.0
//
// Bit operations, directed rounding and approximations, against the host.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

// Edges first, then anything.
std::vector<uint32_t> Words(size_t count) {
  std::vector<uint32_t> words = {
      0,   1,          2,          31,         32,         33,        255,
      256, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe};
  for (uint32_t i = 0; words.size() < count; ++i) {
    words.push_back(Bits(i) >> (i % 3 == 0 ? i % 32 : 0));
  }
  return words;
}

std::vector<float> Floats(size_t count) {
  using Limits = std::numeric_limits<float>;
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1.0f,
                               -1.0f,
                               1.5f,
                               Limits::max(),
                               -Limits::max(),
                               Limits::min(),
                               Limits::denorm_min(),
                               -Limits::denorm_min(),
                               Limits::infinity(),
                               -Limits::infinity(),
                               0x1p-24f,
                               1 + 0x1p-23f};
  for (uint32_t i = 0; values.size() < count; ++i) {
    const float value = std::bit_cast<float>(Bits(i));
    values.push_back(std::isnan(value) ? static_cast<float>(i) : value);
  }
  return values;
}

// The one that GPUs give; in both halves of a pair.
constexpr uint32_t kHalfNan = 0x7FFF7FFF;

// Bits that an H200 gives, whichever NaN goes in.
TEST(NanTest, HalvesHaveOneNan) {
  KernelProgram program(R"(
#define OP1(at, op) asm("{ .reg .b32 r; " op " r, %1; mov.b32 %0, r; }" : "=r"(o[at]) : "r"(a))
#define OP2(at, op) asm(op " %0, %1, %2;" : "=r"(o[at]) : "r"(a), "r"(b))
#define OP3(at, op) asm(op " %0, %1, %2, %2;" : "=r"(o[at]) : "r"(a), "r"(b))
#define ONE(at, op) asm("{ .reg .b16 x, y, r; mov.b32 {x, y}, %1; " op " r, x; mov.b32 %0, {r, r}; }" : "=r"(o[at]) : "r"(a))
#define TWO(at, op) asm("{ .reg .b16 x, y, r; mov.b32 {x, y}, %1; mov.b32 {y, r}, %2; " op " r, x, y; mov.b32 %0, {r, r}; }" : "=r"(o[at]) : "r"(a), "r"(b))
#define FROM(at, op) asm("{ .reg .b16 r; " op " r, %1; mov.b32 %0, {r, r}; }" : "=r"(o[at]) : "f"(f))
#define PAIR(at, op) asm(op " %0, %1, %1;" : "=r"(o[at]) : "f"(f))
extern "C" __global__ void k(unsigned* out) {
  const unsigned nans[] = {0x7c017c01, 0x7e007e00, 0xfe55fe55, 0xffffffff};
  const unsigned alternates[] = {0x7f817f81, 0x7fc07fc0, 0xffd5ffd5, 0xffffffff};
  const unsigned singles[] = {0x7f800001, 0x7fc00000, 0xffc12345, 0xffffffff};
  const int i = threadIdx.x;
  unsigned a = nans[i], b = 0x3c003c00, *o = out + i * 40;
  const float f = __uint_as_float(singles[i]);
  OP2(0, "add.f16x2"); OP2(1, "sub.f16x2"); OP2(2, "mul.f16x2"); OP3(3, "fma.rn.f16x2");
  OP3(4, "fma.rn.relu.f16x2"); OP2(5, "min.NaN.f16x2"); OP2(6, "max.NaN.f16x2");
  OP1(7, "neg.f16x2"); OP1(8, "abs.f16x2"); OP1(9, "ex2.approx.f16x2"); OP1(10, "tanh.approx.f16x2");
  TWO(11, "add.f16"); TWO(12, "mul.f16"); TWO(13, "max.NaN.f16"); ONE(14, "neg.f16"); ONE(15, "abs.f16");
  ONE(16, "ex2.approx.f16"); ONE(17, "tanh.approx.f16"); ONE(18, "cvt.rni.f16.f16"); ONE(19, "cvt.f16.f16");
  FROM(20, "cvt.rn.f16.f32"); FROM(21, "cvt.rz.f16.f32"); FROM(22, "cvt.rn.relu.f16.f32"); PAIR(23, "cvt.rn.f16x2.f32");
  PAIR(24, "cvt.rn.satfinite.f16x2.f32"); OP2(25, "min.NaN.xorsign.abs.f16x2");
  a = alternates[i]; b = 0x3f803f80;
  OP2(26, "add.bf16x2"); OP2(27, "mul.bf16x2"); OP3(28, "fma.rn.bf16x2"); OP3(29, "fma.rn.relu.bf16x2");
  OP2(30, "max.NaN.bf16x2"); OP1(31, "neg.bf16x2"); OP1(32, "abs.bf16x2"); OP1(33, "ex2.approx.ftz.bf16x2");
  OP1(34, "tanh.approx.bf16x2"); ONE(35, "neg.bf16"); FROM(36, "cvt.rn.bf16.f32"); PAIR(37, "cvt.rn.relu.bf16x2.f32");
  ONE(38, "cvt.rn.f16.bf16");
  a = nans[i];
  asm("{ .reg .b16 x, y; mov.b32 {x, y}, %1; cvt.f32.f16 %0, x; }" : "=r"(o[39]) : "r"(a));
})");
  unsigned out[4 * 40] = {};
  ExpectSuccess(program.Run(Geometry(1, 4), +out));
  for (int i = 0; i < 4 * 40; ++i) {
    EXPECT_EQ(out[i], i % 40 == 39 ? 0x7FFFFFFF : kHalfNan) << i;
  }
}

TEST(SpecialRegisterTest, CountersAndTheDriversRegistersAreZero) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned long long* out) {
  unsigned e0, e31, p0, p7;
  asm volatile("mov.b32 %0, %%envreg0; mov.b32 %1, %%envreg31;" : "=r"(e0), "=r"(e31));
  asm volatile("mov.u32 %0, %%pm0; mov.u32 %1, %%pm7;" : "=r"(p0), "=r"(p7));
  asm volatile("mov.u64 %0, %%pm0_64; mov.u64 %1, %%pm7_64;" : "=l"(out[1]), "=l"(out[2]));
  out[0] = e0 | e31 | p0 | p7;
})");
  uint64_t out[3] = {1, 1, 1};
  ExpectSuccess(program.Run(Geometry(1, 1), +out));
  for (const uint64_t value : out) EXPECT_EQ(value, 0u);
}

TEST(BitsTest, CountsFieldsAndBytes) {
  KernelProgram program(R"(
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned a = in[i], b = in[(i * 7 + 3) % n], c = in[(i * 13 + 5) % n], r;
  unsigned* o = out + i * 12;
  o[0] = __popc(a);
  o[1] = __clz(a);
  o[2] = __brev(a);
  o[3] = __ffs(a);
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[4] = r;
  o[5] = __funnelshift_l(a, b, c);
  o[6] = __funnelshift_rc(a, b, c);
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[7] = r;
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[8] = r;
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(c), "r"(i)); o[9] = r;
  o[10] = __dp4a((int)a, (int)b, (int)c);
  asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[11] = r;
})");
  const int n = 1000;
  const std::vector<uint32_t> in = Words(n);
  std::vector<uint32_t> out(n * 12, 0);
  ExpectSuccess(program.Run(Geometry(8, 128), in.data(), out.data(), n));
  for (int i = 0; i < n; ++i) {
    const uint32_t a = in[i], b = in[(i * 7 + 3) % n], c = in[(i * 13 + 5) % n];
    uint32_t reversed = 0, permuted = 0;
    for (int bit = 0; bit < 32; ++bit) reversed |= (a >> bit & 1) << (31 - bit);
    const uint64_t pair = uint64_t{b} << 32 | a;
    int dot = static_cast<int>(c);
    for (int k = 0; k < 4; ++k) {
      const uint32_t selector = c >> (4 * k) & 15;
      uint32_t byte = pair >> (8 * (selector & 7)) & 255;
      if (selector & 8) byte = byte & 128 ? 255 : 0;
      permuted |= byte << (8 * k);
      dot = static_cast<int>(
          static_cast<uint32_t>(dot) +
          static_cast<uint32_t>(static_cast<int8_t>(a >> (8 * k)) *
                                static_cast<int8_t>(b >> (8 * k))));
    }
    auto field = [](uint32_t value, uint32_t from, uint32_t length, bool sign) {
      from &= 255, length &= 255;
      const uint32_t last = std::min(from + length - 1, 31u);
      const uint32_t fill = !sign || length == 0
                                ? 0
                                : (from > 31 ? value >> 31 : value >> last & 1);
      uint32_t result = 0;
      for (uint32_t k = 0; k < 32; ++k) {
        const uint32_t bit =
            k < length && from + k <= 31 ? value >> (from + k) & 1 : fill;
        result |= bit << k;
      }
      return result;
    };
    uint32_t inserted = b;
    for (uint32_t k = 0; k < (static_cast<uint32_t>(i) & 255); ++k) {
      const uint32_t at = (c & 255) + k;
      if (at > 31 || k > 31) break;
      inserted = (inserted & ~(1u << at)) | (a >> k & 1) << at;
    }
    const uint32_t expected[12] = {
        static_cast<uint32_t>(std::popcount(a)),
        static_cast<uint32_t>(std::countl_zero(a)),
        reversed,
        a == 0 ? 0u : static_cast<uint32_t>(std::countr_zero(a)) + 1,
        permuted,
        static_cast<uint32_t>(pair << (c & 31) >> 32),
        static_cast<uint32_t>(c >= 32 ? b : pair >> c),
        field(a, b, c, false),
        field(a, b, c, true),
        inserted,
        static_cast<uint32_t>(dot),
        (a & b) | (a & c) | (b & c)};
    for (int k = 0; k < 12; ++k) {
      ASSERT_EQ(out[i * 12 + k], expected[k])
          << "operation " << k << " of " << a << ", " << b << ", " << c;
    }
  }
}

TEST(RoundingTest, DirectedSumsProductsAndFmasAreTheHostsOwn) {
  KernelProgram program(R"(
extern "C" __global__ void k(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = in[i], b = in[(i * 7 + 3) % n], c = in[(i * 13 + 5) % n];
  float* o = out + i * 9;
  o[0] = __fadd_rz(a, b); o[1] = __fadd_rd(a, b); o[2] = __fadd_ru(a, b);
  o[3] = __fmul_rz(a, b); o[4] = __fmul_rd(a, b); o[5] = __fmul_ru(a, b);
  o[6] = __fmaf_rz(a, b, c); o[7] = __fmaf_rd(a, b, c); o[8] = __fmaf_ru(a, b, c);
})");
  const int n = 4000;
  const std::vector<float> in = Floats(n);
  std::vector<float> out(n * 9, 0);
  ExpectSuccess(program.Run(Geometry(32, 128), in.data(), out.data(), n));
  const int modes[3] = {FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  for (int i = 0; i < n; ++i) {
    const volatile float a = in[i], b = in[(i * 7 + 3) % n],
                         c = in[(i * 13 + 5) % n];
    for (int k = 0; k < 9; ++k) {
      std::fesetround(modes[k % 3]);
      const volatile float expected = k < 3   ? a + b
                                      : k < 6 ? a * b
                                              : std::fmaf(a, b, c);
      std::fesetround(FE_TONEAREST);
      const float got = out[i * 9 + k];
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got));
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(got),
                  std::bit_cast<uint32_t>(static_cast<float>(expected)))
            << "operation " << k << " of " << a << ", " << b << ", " << c;
      }
    }
  }
}

TEST(ApproximationTest, StayWithinTheDocumentedErrors) {
  KernelProgram program(R"(
extern "C" __global__ void k(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = in[i], r;
  float* o = out + i * 5;
  asm("ex2.approx.f32 %0, %1;" : "=f"(r) : "f"(a)); o[0] = r;
  asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(a)); o[1] = r;
  asm("sin.approx.f32 %0, %1;" : "=f"(r) : "f"(a)); o[2] = r;
  asm("cos.approx.f32 %0, %1;" : "=f"(r) : "f"(a)); o[3] = r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(a)); o[4] = r;
})");
  std::vector<float> in = Floats(2000);
  for (int i = 0; i < 4000; ++i) in.push_back((i - 2000) * 0.0157f);
  const int n = static_cast<int>(in.size());
  std::vector<float> out(n * 5, 0);
  ExpectSuccess(
      program.Run(Geometry(n / 128 + 1, 128), in.data(), out.data(), n));
  for (int i = 0; i < n; ++i) {
    const double x = in[i];
    const double expected[5] = {std::exp2(x), std::log2(x), std::sin(x),
                                std::cos(x), std::tanh(x)};
    for (int k = 0; k < 5; ++k) {
      const double got = out[i * 5 + k];
      const double want = expected[k];
      const bool trigonometric = k == 2 || k == 3;
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << k << " of " << x;
      } else if (trigonometric && std::fabs(x) > 1e5) {
        EXPECT_LE(std::fabs(got), 1.0) << k << " of " << x;
      } else if (std::isinf(static_cast<float>(want))) {
        EXPECT_EQ(got, static_cast<float>(want)) << k << " of " << x;
      } else {
        // Half a place of float, and 2^-24 near zero for sine and cosine.
        const double bound = std::fabs(want) * 0x1p-23 + 0x1p-149 +
                             (trigonometric ? 0x1p-30 : 0);
        EXPECT_LE(std::fabs(got - want), bound) << k << " of " << x;
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::software
