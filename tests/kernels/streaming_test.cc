// SPDX-License-Identifier: Apache-2.0
//
// Kernels in which each thread works for itself.
#include <algorithm>

#include "tests/kernels/kernel_test.h"

namespace holdfast::kernels {
namespace {

class Streaming : public KernelTest {};

TEST_F(Streaming, VectorAdd) {
  Load("vector_add");
  constexpr int kCount = 10007;
  const auto a = Random<float>(kCount, 1), b = Random<float>(kCount, 2);
  std::vector<float> expected(kCount);
  for (int i = 0; i < kCount; ++i) expected[i] = a[i] + b[i];
  const Array<float> sum(kCount);
  Launch("vector_add", {BlocksFor(kCount, 256)}, {256}, Upload(a), Upload(b),
         sum, kCount);
  ExpectBits(sum, expected);
}

TEST_F(Streaming, VectorAddByFours) {
  Load("vector_add");
  constexpr int kCount = 1001;
  const auto a = Random<float>(4 * kCount, 1), b = Random<float>(4 * kCount, 2);
  std::vector<float> expected(4 * kCount);
  for (int i = 0; i < 4 * kCount; ++i) expected[i] = a[i] + b[i];
  const Array<float> sum(4 * kCount);
  Launch("vector_add4", {BlocksFor(kCount, 96)}, {96}, Upload(a), Upload(b),
         sum, kCount);
  ExpectBits(sum, expected);
}

TEST_F(Streaming, Saxpy) {
  Load("saxpy");
  constexpr int kCount = 30011;
  const auto x = Random<float>(kCount, 1), y = Random<float>(kCount, 2);
  std::vector<float> expected(kCount);
  for (int i = 0; i < kCount; ++i) expected[i] = 2.5f * x[i] + y[i];
  const Array<float> result = Upload(y);
  Launch("saxpy", {7}, {128}, Upload(x), result, 2.5f, kCount);
  ExpectBits(result, expected);
}

TEST_F(Streaming, BitTricks) {
  Load("bits");
  constexpr int kCount = 1000;
  auto in = Random<uint32_t>(kCount);
  in[0] = 0;
  in[1] = ~0u;
  in[2] = 0x80000000u;
  std::vector<uint32_t> expected;
  const auto reverse = [](uint32_t v) {
    uint32_t r = 0;
    for (int k = 0; k < 32; ++k) r |= (v >> k & 1) << (31 - k);
    return r;
  };
  const auto permute = [](uint32_t x, uint32_t y, uint32_t s) {
    const uint64_t bytes = uint64_t{y} << 32 | x;
    uint32_t r = 0;
    for (int k = 0; k < 4; ++k) {
      r |= static_cast<uint32_t>(bytes >> (s >> (4 * k) & 7) * 8 & 255)
           << (8 * k);
    }
    return r;
  };
  for (int i = 0; i < kCount; ++i) {
    const uint32_t x = in[i], y = in[(i + 1) % kCount];
    const uint64_t wide = uint64_t{x} << 32 | y;  // as popcll sees it
    const uint64_t pair = uint64_t{y} << 32 | x;  // as funnel shifts see it
    const unsigned clamped = std::min(x & 63, 32u);
    const uint32_t least = x > y ? x - y : y - x;
    const uint32_t values[16] = {
        static_cast<uint32_t>(__builtin_popcount(x)),
        reverse(x),
        x == 0 ? 32u : static_cast<uint32_t>(__builtin_clz(x)),
        static_cast<uint32_t>(__builtin_ffs(static_cast<int>(x))),
        static_cast<uint32_t>(__builtin_popcountll(wide)),
        wide == 0 ? 64u : static_cast<uint32_t>(__builtin_clzll(wide)),
        reverse(y),
        permute(x, y, 0x5140),
        permute(x, y, y & 0x7777),
        static_cast<uint32_t>(pair << (x & 31) >> 32),
        static_cast<uint32_t>(pair >> (y & 31)),
        clamped == 32 ? x : static_cast<uint32_t>(pair << clamped >> 32),
        static_cast<uint32_t>(uint64_t{x} * y >> 32),
        static_cast<uint32_t>(
            int64_t{static_cast<int32_t>(x)} * static_cast<int32_t>(y) >> 32),
        least + 7,
        x << (y & 31) ^
            static_cast<uint32_t>(static_cast<int32_t>(x) >> (y & 31))};
    expected.insert(expected.end(), values, values + 16);
  }
  const Array<uint32_t> out(16 * kCount);
  Launch("bit_tricks", {BlocksFor(kCount, 64)}, {64}, Upload(in), out, kCount);
  ExpectBits(out, expected);
}

TEST_F(Streaming, Integers) {
  Load("bits");
  constexpr int kCount = 500;
  auto in = Random<int64_t>(kCount);
  for (int64_t& value : in) value <<= 16;
  std::vector<int64_t> expected;
  for (int i = 0; i < kCount; ++i) {
    const int64_t a = in[i], b = in[(i + 1) % kCount] >> (i % 60) | 1;
    const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    const auto s = static_cast<int16_t>(a);
    const auto r = static_cast<int16_t>(b | 1);
    const int64_t values[8] = {
        a / b,
        a % b,
        static_cast<int64_t>(ua / ub),
        static_cast<int64_t>(ua * ub),
        static_cast<int64_t>(static_cast<__int128>(a) * b >> 64),
        static_cast<int16_t>(s * r) + static_cast<uint16_t>(s / r),
        static_cast<int64_t>(static_cast<uint64_t>(std::min(a, b)) ^
                             std::max(ua, ub)),
        static_cast<int8_t>(a) + static_cast<uint8_t>(b) +
            ((a >> 7) & static_cast<int64_t>(ub << 3))};
    expected.insert(expected.end(), values, values + 8);
  }
  const Array<int64_t> out(8 * kCount);
  Launch("integers", {BlocksFor(kCount, 64)}, {64}, Upload(in), out, kCount);
  ExpectBits(out, expected);
}

float Normal(float d) {
  const double tail =
      0.5 * std::erfc(std::abs(static_cast<double>(d)) / std::sqrt(2.0));
  return static_cast<float>(d > 0 ? 1 - tail : tail);
}

TEST_F(Streaming, BlackScholes) {
  Load("finance");
  constexpr int kCount = 5000;
  auto price = Random<float>(kCount, 1), strike = Random<float>(kCount, 2),
       years = Random<float>(kCount, 3);
  std::vector<float> call(kCount), put(kCount);
  for (int i = 0; i < kCount; ++i) {
    price[i] = 17.5f + 12.5f * price[i];
    strike[i] = 50.5f + 49.5f * strike[i];
    years[i] = 5.125f + 4.875f * years[i];
    const double root = std::sqrt(years[i]);
    const double d1 =
        (std::log(price[i] / strike[i]) + (0.02 + 0.5 * 0.3 * 0.3) * years[i]) /
        (0.3 * root);
    const double d2 = d1 - 0.3 * root;
    const double discount = strike[i] * std::exp(-0.02 * years[i]);
    call[i] = static_cast<float>(price[i] * Normal(d1) - discount * Normal(d2));
    put[i] = static_cast<float>(discount * (1 - Normal(d2)) -
                                price[i] * (1 - Normal(d1)));
  }
  const Array<float> calls(kCount), puts(kCount);
  Launch("black_scholes", {BlocksFor(kCount, 128)}, {128}, Upload(price),
         Upload(strike), Upload(years), calls, puts, 0.02f, 0.3f, kCount);
  ExpectNear(calls, call, 1e-4);
  ExpectNear(puts, put, 1e-4);
}

TEST_F(Streaming, MonteCarloXorshift) {
  Load("finance");
  constexpr int kThreads = 512, kRounds = 100;
  std::vector<uint32_t> expected(kThreads);
  for (uint32_t i = 0; i < kThreads; ++i) {
    uint32_t state = ((i + 1) * 2654435761u) | 1;
    for (int r = 0; r < kRounds; ++r) {
      float point[2];
      for (float& p : point) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        p = static_cast<float>(state >> 8) * (1.0f / 16777216.0f);
      }
      if (point[0] * point[0] + point[1] * point[1] < 1.0f) ++expected[i];
    }
  }
  const Array<uint32_t> hits(kThreads);
  Launch("monte_carlo", {kThreads / 128}, {128}, hits, kRounds);
  ExpectBits(hits, expected);
}

TEST_F(Streaming, Philox) {
  Load("finance");
  constexpr int kThreads = 300;
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < kThreads; ++i) {
    uint32_t c[4] = {i, 1, 2, 3}, key0 = 11, key1 = 22;
    for (int r = 0; r < 10; ++r) {
      const uint64_t a = uint64_t{0xD2511F53u} * c[0];
      const uint64_t b = uint64_t{0xCD9E8D57u} * c[2];
      const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key0,
                                static_cast<uint32_t>(b),
                                static_cast<uint32_t>(a >> 32) ^ c[3] ^ key1,
                                static_cast<uint32_t>(a)};
      std::copy(next, next + 4, c);
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    expected.insert(expected.end(), c, c + 4);
  }
  const Array<uint32_t> out(4 * kThreads);
  Launch("philox", {kThreads / 50}, {50}, out, 11u, 22u);
  ExpectBits(out, expected);
}

TEST_F(Streaming, SmallCholesky) {
  Load("linear_algebra");
  constexpr int kCount = 200;
  const auto random = Random<float>(36 * kCount);
  std::vector<float> matrices(36 * kCount), expected(36 * kCount);
  for (int t = 0; t < kCount; ++t) {
    float l[6][6] = {};
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 6; ++j) {
        float sum = i == j ? 6.0f : 0.0f;
        for (int k = 0; k < 6; ++k) {
          sum += random[(i * 6 + k) * kCount + t] *
                 random[(j * 6 + k) * kCount + t];
        }
        matrices[(i * 6 + j) * kCount + t] = sum;
      }
    }
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j <= i; ++j) {
        float sum = matrices[(i * 6 + j) * kCount + t];
        for (int k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
        l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
        expected[(i * 6 + j) * kCount + t] = l[i][j];
      }
    }
  }
  const Array<float> factors = Zeros<float>(36 * kCount);
  Launch("cholesky", {BlocksFor(kCount, 64)}, {64}, Upload(matrices), factors,
         kCount);
  ExpectBits(factors, expected);
}

TEST_F(Streaming, SmallQr) {
  Load("linear_algebra");
  constexpr int kCount = 200;
  const auto matrices = Random<float>(16 * kCount);
  std::vector<float> expected = matrices;
  for (int t = 0; t < kCount; ++t) {
    float* a = &expected[t * 16];
    for (int c = 0; c < 4; ++c) {
      for (int r = c + 1; r < 4; ++r) {
        const float x = a[c * 4 + c], y = a[r * 4 + c];
        const float length = std::sqrt(x * x + y * y);
        if (length == 0) continue;
        const float cosine = x / length, sine = y / length;
        for (int k = 0; k < 4; ++k) {
          const float u = a[c * 4 + k], v = a[r * 4 + k];
          a[c * 4 + k] = cosine * u + sine * v;
          a[r * 4 + k] = cosine * v - sine * u;
        }
      }
    }
  }
  const Array<float> out(16 * kCount);
  Launch("qr", {BlocksFor(kCount, 64)}, {64}, Upload(matrices), out, kCount);
  ExpectBits(out, expected);
}

TEST_F(Streaming, KahanSumInDouble) {
  Load("linear_algebra");
  constexpr int kCount = 100, kEach = 300;
  const auto in = Random<double>(kCount * kEach);
  std::vector<double> expected(kCount);
  for (int t = 0; t < kCount; ++t) {
    volatile double sum = 0, error = 0;
    for (int i = 0; i < kEach; ++i) {
      const volatile double y = in[i * kCount + t] - error;
      const volatile double next = sum + y;
      const volatile double gained = next - sum;
      error = gained - y;
      sum = next;
    }
    expected[t] = sum;
  }
  const Array<double> sums(kCount);
  Launch("kahan", {2}, {64}, Upload(in), sums, kEach, kCount);
  ExpectBits(sums, expected);
}

TEST_F(Streaming, MappedIterators) {
  Load("device_loops");
  constexpr int kCount = 101;
  std::vector<int64_t> expected(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    const int64_t x = i - 50;
    expected[i] = x % 2 != 0 ? x * x * x : -1;
  }
  const Array<int64_t> out(kCount);
  Launch("mapped_copy", {2}, {32}, out, kCount);
  ExpectBits(out, expected);
}

TEST_F(Streaming, SmallestOfASequence) {
  Load("device_loops");
  constexpr int kCount = 5000, kThreads = 40;
  const auto in = Random<float>(kCount);
  std::vector<float> expected;
  for (int t = 0; t < kThreads; ++t) {
    std::vector<float> mine;
    for (int i = t; i < kCount; i += kThreads) mine.push_back(in[i]);
    std::sort(mine.begin(), mine.end());
    expected.insert(expected.end(), mine.begin(), mine.begin() + 8);
  }
  const Array<float> out(8 * kThreads);
  Launch("smallest", {1}, {kThreads}, Upload(in), out, kCount);
  ExpectBits(out, expected);
}

}  // namespace
}  // namespace holdfast::kernels
