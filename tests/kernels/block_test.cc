// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose threads work together in a block: tiles, reductions, scans.
#include <algorithm>
#include <numeric>

#include "tests/kernels/kernel_test.h"

namespace holdfast::kernels {
namespace {

class Block : public KernelTest {};

std::vector<float> Product(const std::vector<float>& a,
                           const std::vector<float>& b, int n) {
  std::vector<float> c(n * n);
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < n; ++k) {
      for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
  }
  return c;
}

TEST_F(Block, MatmulNaive) {
  Load("matmul");
  constexpr int kSize = 70;
  const auto a = Random<float>(kSize * kSize, 1),
             b = Random<float>(kSize * kSize, 2);
  const Array<float> c(kSize * kSize);
  Launch("matmul_naive", {5, 5}, {16, 16}, Upload(a), Upload(b), c, kSize);
  ExpectBits(c, Product(a, b, kSize));
}

TEST_F(Block, MatmulTiled) {
  Load("matmul");
  constexpr int kSize = 96;
  const auto a = Random<float>(kSize * kSize, 1),
             b = Random<float>(kSize * kSize, 2);
  const Array<float> c(kSize * kSize);
  Launch("matmul_tiled", {6, 6}, {16, 16}, Upload(a), Upload(b), c, kSize);
  ExpectBits(c, Product(a, b, kSize));
}

std::vector<float> Transposed(const std::vector<float>& in, int width,
                              int height) {
  std::vector<float> out(in.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) out[x * height + y] = in[y * width + x];
  }
  return out;
}

TEST_F(Block, TransposeNaive) {
  Load("transpose");
  constexpr int kWidth = 100, kHeight = 75;
  const auto in = Random<float>(kWidth * kHeight);
  const Array<float> out(in.size());
  Launch("transpose_naive", {4, 10}, {32, 8}, Upload(in), out, kWidth, kHeight);
  ExpectBits(out, Transposed(in, kWidth, kHeight));
}

TEST_F(Block, TransposeTiled) {
  Load("transpose");
  constexpr int kWidth = 100, kHeight = 75;
  const auto in = Random<float>(kWidth * kHeight);
  const Array<float> out(in.size());
  Launch("transpose_tiled", {4, 3}, {32, 8}, Upload(in), out, kWidth, kHeight);
  ExpectBits(out, Transposed(in, kWidth, kHeight));
}

// The sum of a tree: neighbours at half the distance, as the kernels add.
float Tree(std::vector<float> values) {
  for (size_t half = values.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) values[i] += values[i + half];
  }
  return values[0];
}

TEST_F(Block, ReduceByTree) {
  Load("reduce");
  constexpr int kCount = 2000;
  const auto in = Random<float>(kCount);
  std::vector<float> expected;
  for (int b = 0; b < 8; ++b) {
    std::vector<float> values(256);
    for (int t = 0; t < 256 && b * 256 + t < kCount; ++t)
      values[t] = in[b * 256 + t];
    expected.push_back(Tree(values));
  }
  const Array<float> sums(8);
  Launch("reduce_shared", {8}, {256}, Upload(in), sums, kCount);
  ExpectBits(sums, expected);
}

TEST_F(Block, ReduceByShuffles) {
  Load("reduce");
  constexpr int kCount = 5000, kBlocks = 3, kThreads = 128;
  const auto in = Random<float>(kCount);
  std::vector<float> expected;
  for (int b = 0; b < kBlocks; ++b) {
    std::vector<float> warps(32);
    for (int w = 0; w < kThreads / 32; ++w) {
      std::vector<float> lanes(32);
      for (int l = 0; l < 32; ++l) {
        for (int i = b * kThreads + w * 32 + l; i < kCount;
             i += kBlocks * kThreads) {
          lanes[l] += in[i];
        }
      }
      warps[w] = Tree(lanes);
    }
    expected.push_back(Tree(warps));
  }
  const Array<float> sums(kBlocks);
  Launch("reduce_shuffle", {kBlocks}, {kThreads}, Upload(in), sums, kCount);
  ExpectBits(sums, expected);
}

TEST_F(Block, ReduceByAtomics) {
  Load("reduce");
  constexpr int kCount = 3333;
  const auto in = Random<int32_t>(kCount);
  uint64_t sum = 0;
  for (const int32_t value : in) sum += static_cast<uint32_t>(value);
  const Array<uint64_t> total = Zeros<uint64_t>(1);
  const Array<int32_t> most = Upload(std::vector<int32_t>{INT32_MIN});
  Launch("reduce_atomic", {BlocksFor(kCount, 200)}, {200}, Upload(in), total,
         most, kCount);
  ExpectBits(total, {sum});
  ExpectBits(most, {*std::max_element(in.begin(), in.end())});
}

TEST_F(Block, ReduceInTheLastBlock) {
  Load("reduce");
  constexpr int kCount = 4000;
  const auto in = RandomBelow(kCount, 1000);
  const Array<int> partial(5), total(1);
  const int sum = std::accumulate(in.begin(), in.end(), 0);
  // Twice: the counter has come round to zero.
  for (int round = 0; round < 2; ++round) {
    Launch("reduce_last_block", {5}, {128}, Upload(in), partial, total, kCount);
    ExpectBits(total, {sum});
  }
}

TEST_F(Block, CooperativeReduce) {
  Load("cooperative_reduce");
  constexpr int kCount = 2048;
  const auto in = RandomBelow(kCount, 1000);
  std::vector<int> expected = in;
  for (int half = kCount / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) expected[i] += expected[i + half];
  }
  const Array<int> values = Upload(in);
  SetCooperative();
  Launch("cooperative_reduce", {2}, {128}, values, kCount);
  ExpectBits(values, expected);
}

TEST_F(Block, ScanByBlocks) {
  Load("scan");
  constexpr int kBlocks = 5;
  const auto in = RandomBelow(256 * kBlocks, 100);
  const Array<int> out(in.size()), totals(kBlocks);
  std::vector<int> expected(in.size()), sums(kBlocks);
  std::partial_sum(in.begin(), in.end(), expected.begin());
  Launch("scan_block", {kBlocks}, {256}, Upload(in), out, totals);
  for (int b = 0; b < kBlocks; ++b) sums[b] = expected[256 * b + 255];
  Launch("scan_add", {kBlocks}, {256}, out, Upload(sums));
  ExpectBits(out, expected);
}

TEST_F(Block, ScanByWarps) {
  Load("scan");
  const auto in = RandomBelow(640, 100);
  std::vector<int> expected(in.size());
  for (size_t w = 0; w < in.size(); w += 32) {
    std::partial_sum(&in[w], &in[w] + 32, &expected[w]);
  }
  const Array<int> out(in.size());
  Launch("scan_warp", {5}, {128}, Upload(in), out);
  ExpectBits(out, expected);
}

TEST_F(Block, ScanWithDecoupledLookback) {
  Load("scan");
  constexpr int kCount = 40 * 256 - 17;
  const auto in = RandomBelow(kCount, 100);
  std::vector<int> expected(kCount);
  std::partial_sum(in.begin(), in.end(), expected.begin());
  const Array<int> out(kCount);
  Launch("scan_lookback", {40}, {256}, Upload(in), out, kCount,
         Zeros<unsigned>(1), Zeros<uint64_t>(40));
  ExpectBits(out, expected);
}

TEST_F(Block, ScanWithDecoupledLookbackOfFourValuesAThread) {
  Load("scan");
  constexpr int kFours = 12 * 256 - 17;
  const auto in = RandomBelow(4 * kFours, 100);
  std::vector<int> expected(in.size());
  std::partial_sum(in.begin(), in.end(), expected.begin());
  const Array<int> out(in.size());
  Launch("scan_lookback_wide", {12}, {256}, Upload(in), out, kFours,
         Zeros<unsigned>(1), Zeros<uint64_t>(12));
  ExpectBits(out, expected);
}

TEST_F(Block, HistogramsAgree) {
  Load("histogram");
  constexpr int kCount = 20000;
  auto data = Random<uint8_t>(kCount);
  for (uint8_t& value : data) value &= value >> 3 | 0xf0;
  std::vector<uint32_t> expected(256);
  for (const uint8_t value : data) ++expected[value];
  for (const char* entry : {"histogram_global", "histogram_shared"}) {
    const Array<uint32_t> bins = Zeros<uint32_t>(256);
    Launch(entry, {6}, {192}, Upload(data), bins, kCount);
    ExpectBits(bins, expected);
  }
  const Array<uint32_t> bins = Zeros<uint32_t>(256);
  Launch("histogram_match", {BlocksFor(kCount, 128)}, {128}, Upload(data), bins,
         kCount);
  ExpectBits(bins, expected);
}

TEST_F(Block, CompactionInOrder) {
  Load("compaction");
  constexpr int kCount = 5000, kThreads = 160;
  const unsigned blocks = BlocksFor(kCount, kThreads);
  const auto in = Random<int32_t>(kCount);
  std::vector<int32_t> expected;
  std::vector<int> counts(blocks), offsets(blocks);
  for (int i = 0; i < kCount; ++i) {
    if (in[i] <= 0) continue;
    expected.push_back(in[i]);
    ++counts[i / kThreads];
  }
  std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
  const Array<int> counted(blocks);
  Launch("count_positive", {blocks}, {kThreads}, Upload(in), counted, kCount);
  ExpectBits(counted, counts);
  const Array<int32_t> out(expected.size());
  Launch("keep_positive", {blocks}, {kThreads}, Upload(in), Upload(offsets),
         out, kCount);
  ExpectBits(out, expected);
}

TEST_F(Block, CompactionInAnyOrder) {
  Load("compaction");
  constexpr int kCount = 3000;
  const auto in = Random<int32_t>(kCount);
  std::vector<int32_t> expected;
  std::copy_if(in.begin(), in.end(), std::back_inserter(expected),
               [](int32_t value) { return value > 0; });
  const Array<int32_t> out(expected.size());
  const Array<int> count = Zeros<int>(1);
  Launch("keep_any_order", {BlocksFor(kCount, 128)}, {128}, Upload(in), out,
         count, kCount);
  ExpectBits(count, {static_cast<int>(expected.size())});
  std::vector<int32_t> kept = out.Download();
  std::sort(kept.begin(), kept.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(kept, expected);
}

TEST_F(Block, Nbody) {
  Load("nbody");
  constexpr int kCount = 192;
  const auto bodies = Random<float>(4 * kCount);
  std::vector<float> expected(4 * kCount);
  for (int i = 0; i < kCount; ++i) {
    const float* me = &bodies[4 * i];
    for (int j = 0; j < kCount; ++j) {
      const float* it = &bodies[4 * j];
      const float dx = it[0] - me[0], dy = it[1] - me[1], dz = it[2] - me[2];
      const float square = dx * dx + dy * dy + dz * dz + 0.01f;
      const float inverse = 1.0f / std::sqrt(square);
      const float scale = it[3] * inverse * inverse * inverse;
      expected[4 * i] += dx * scale;
      expected[4 * i + 1] += dy * scale;
      expected[4 * i + 2] += dz * scale;
    }
  }
  const Array<float> forces(4 * kCount);
  Launch("nbody", {kCount / 64}, {64}, Upload(bodies), forces, kCount);
  ExpectBits(forces, expected);
}

TEST_F(Block, FourierTransform) {
  Load("linear_algebra");
  constexpr int kBlocks = 3, kSize = 512;
  const auto in = Random<float>(2 * kSize * kBlocks);
  std::vector<float> twiddles(kSize), expected(in.size());
  for (int i = 0; i < kSize / 2; ++i) {
    twiddles[2 * i] = static_cast<float>(std::cos(-2 * M_PI * i / kSize));
    twiddles[2 * i + 1] = static_cast<float>(std::sin(-2 * M_PI * i / kSize));
  }
  for (int b = 0; b < kBlocks; ++b) {
    float* s = &expected[2 * kSize * b];
    for (int i = 0; i < kSize; ++i) {
      int r = 0;
      for (int k = 0; k < 9; ++k) r |= (i >> k & 1) << (8 - k);
      s[2 * r] = in[2 * (kSize * b + i)];
      s[2 * r + 1] = in[2 * (kSize * b + i) + 1];
    }
    for (int half = 1; half < kSize; half *= 2) {
      for (int t = 0; t < kSize / 2; ++t) {
        const int k = t & (half - 1);
        float* a = s + 2 * (2 * t - k);
        float* o = a + 2 * half;
        const float* w = &twiddles[2 * (k * (kSize / 2 / half))];
        const float re = o[0] * w[0] - o[1] * w[1];
        const float im = o[0] * w[1] + o[1] * w[0];
        o[0] = a[0] - re;
        o[1] = a[1] - im;
        a[0] += re;
        a[1] += im;
      }
    }
  }
  const Array<float> out(in.size());
  Launch("fft", {kBlocks}, {256}, Upload(in), out, Upload(twiddles));
  ExpectBits(out, expected);
}

TEST_F(Block, LuFactors) {
  Load("linear_algebra");
  constexpr int kBlocks = 4;
  auto in = Random<double>(256 * kBlocks);
  for (int b = 0; b < kBlocks; ++b) {
    for (int i = 0; i < 16; ++i) in[256 * b + 17 * i] += 8;
  }
  std::vector<double> expected = in;
  for (int b = 0; b < kBlocks; ++b) {
    double* a = &expected[256 * b];
    for (int k = 0; k < 15; ++k) {
      for (int r = k + 1; r < 16; ++r) {
        a[r * 16 + k] /= a[k * 16 + k];
        for (int c = k + 1; c < 16; ++c) {
          a[r * 16 + c] -= a[r * 16 + k] * a[k * 16 + c];
        }
      }
    }
  }
  const Array<double> matrices = Upload(in);
  Launch("lu", {kBlocks}, {16, 16}, matrices);
  ExpectBits(matrices, expected);
}

TEST_F(Block, DynamicShared) {
  Load("calls");
  constexpr int kThreads = 96;
  const auto in = Random<int32_t>(2 * kThreads);
  std::vector<int32_t> expected(in.size());
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < kThreads; ++t) {
      expected[b * kThreads + t] = static_cast<int32_t>(
          static_cast<uint32_t>(in[b * kThreads + kThreads - 1 - t]) +
          (t & 3) * 1000);
    }
  }
  const Array<int32_t> out(in.size());
  SetDynamicShared(kThreads * 4);
  Launch("dynamic_shared", {2}, {kThreads}, Upload(in), out);
  ExpectBits(out, expected);
}

TEST_F(Block, VotesAndShuffles) {
  Load("device_loops");
  const auto in = Random<int32_t>(64);
  std::vector<int32_t> expected(64);
  for (int t = 0; t < 64; ++t) {
    const int32_t* w = &in[t / 32 * 32];
    const int lane = t % 32;
    uint32_t ballot = 0, sum = 0;
    bool all_low = true, any_high = false, all_positive = true;
    for (int l = 0; l < 32; ++l) {
      ballot |= static_cast<uint32_t>(w[l] & 1) << l;
      sum += w[l] & 255;
      all_low &= w[l] > -1000000000;
      any_high |= w[l] > 1000000000;
      all_positive &= w[l] > 0;
    }
    uint32_t r = (all_low * 2 + any_high) * 2 + all_positive;
    r ^= ballot;
    r += static_cast<uint32_t>(w[t * 7 & 31]);
    r ^= static_cast<uint32_t>(w[lane ^ 5]);
    r += static_cast<uint32_t>(w[lane % 16 < 13 ? lane + 3 : lane]);
    expected[t] = static_cast<int32_t>(r ^ sum);
  }
  const Array<int32_t> out(64);
  Launch("votes", {1}, {64}, Upload(in), out);
  ExpectBits(out, expected);
}

}  // namespace
}  // namespace holdfast::kernels
