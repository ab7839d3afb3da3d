// SPDX-License-Identifier: Apache-2.0
//
// Locks, atomics, calls, groups, libraries, text output, neural networks.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "tests/kernels/kernel_test.h"

namespace holdfast::kernels {
namespace {

class Cooperation : public KernelTest {};

TEST_F(Cooperation, SpinLock) {
  Load("locks");
  const Array<int> lock = Zeros<int>(1), counter = Zeros<int>(1);
  Launch("spin_lock", {6}, {64}, lock, counter);
  ExpectBits(counter, {6 * 64});
}

TEST_F(Cooperation, TicketLock) {
  Load("locks");
  const Array<unsigned> next = Zeros<unsigned>(1), now = Zeros<unsigned>(1);
  const Array<int> counter = Zeros<int>(1);
  uint32_t expected = 0;
  for (int i = 0; i < 100; ++i) expected = expected * 3 + 1;
  Launch("ticket_lock", {4}, {25}, next, now, counter);
  ExpectBits(counter, {static_cast<int>(expected)});
}

TEST_F(Cooperation, ProducerAndConsumerLanes) {
  Load("locks");
  const auto in = RandomBelow(128, 1000);
  std::vector<int> expected(128);
  for (int t = 1; t < 128; t += 2) {
    uint32_t sum = 0;
    for (int r = 0; r < 8; ++r) sum = sum * 7 + in[t - 1] * r + t - 1;
    expected[t] = static_cast<int>(sum);
  }
  const Array<int> out(128);
  Launch("producer_consumer", {1}, {128}, Upload(in), out);
  ExpectBits(out, expected);
}

TEST_F(Cooperation, RingBetweenWarps) {
  Load("locks");
  const auto in = RandomBelow(200, 1000);
  std::vector<int> expected;
  for (const int value : in) expected.push_back(value * 3 + 1);
  const Array<int> out(200);
  Launch("ring", {1}, {64}, Upload(in), out, 200);
  ExpectBits(out, expected);
}

TEST_F(Cooperation, AtomicsOfAllKinds) {
  Load("locks");
  constexpr int kThreads = 1000;
  const Array<int> i32 = Upload(std::vector<int>{0, 0, 0, 0, -1, 0, 0});
  const Array<uint32_t> u32 = Upload(std::vector<uint32_t>{0, 0, ~0u, 0});
  const Array<uint64_t> u64 =
      Upload(std::vector<uint64_t>{0, ~0ull, 0, ~0ull, 0, 0});
  const Array<int64_t> s64 = Zeros<int64_t>(2);
  const Array<float> f32 = Zeros<float>(1);
  const Array<double> f64 = Zeros<double>(1);
  Launch("atomics", {8}, {125}, i32, u32, u64, s64, f32, f64);
  int exclusive = 0;
  for (int t = 0; t < kThreads; ++t) exclusive ^= t;
  constexpr int kSum = kThreads * (kThreads - 1) / 2;
  ExpectBits(i32, {kSum, -kSum, -999, 999, 0, -1, exclusive});
  // 1000 steps around 100 values; downwards from 0 the first goes to 99.
  ExpectBits(u32, {0, 0, 4001, 5000});
  ExpectBits(u64, {uint64_t{kSum} << 20, 999001, 999ull * 999, 0, ~0ull,
                   uint64_t(exclusive) << 33});
  ExpectBits(s64, {-999, 999 * 5});
  ExpectBits(f32, {1000.0f});
  ExpectBits(f64, {500.0});
}

int Ackermann(int m, int n) {
  if (m == 0) return n + 1;
  return n == 0 ? Ackermann(m - 1, 1) : Ackermann(m - 1, Ackermann(m, n - 1));
}

TEST_F(Cooperation, AckermannByRecursion) {
  Load("recursion");
  std::vector<int> expected;
  for (int t = 0; t < 32; ++t) expected.push_back(Ackermann(t % 3, t / 3));
  const Array<int> out(32);
  Launch("ackermann", {1}, {32}, out);
  ExpectBits(out, expected);
}

TEST_F(Cooperation, FunctionPointers) {
  Load("pointers");
  constexpr int kCount = 300;
  const auto which = RandomBelow(kCount, 3), in = RandomBelow(kCount, 1000, 2);
  std::vector<int> expected(kCount);
  for (int i = 0; i < kCount; ++i) {
    expected[i] = which[i] == 0   ? in[i] + i
                  : which[i] == 1 ? in[i] * i
                                  : in[i] - i;
  }
  const Array<int> out(kCount);
  Launch("function_pointers", {3}, {100}, Upload(which), Upload(in), out,
         kCount);
  ExpectBits(out, expected);
}

TEST_F(Cooperation, VirtualMethods) {
  Load("pointers");
  constexpr int kCount = 200;
  const auto in = Random<float>(kCount);
  std::vector<float> expected(kCount);
  for (int i = 0; i < kCount; ++i) {
    expected[i] = i % 3 == 0 ? in[i] * in[i] : 0.5f * in[i] * 3.0f;
  }
  const Array<float> areas(kCount);
  Launch("virtual_methods", {2}, {100}, Upload(in), areas, kCount);
  ExpectBits(areas, expected);
}

TEST_F(Cooperation, StructsByValue) {
  Load("calls");
  struct Particle {
    double mass;
    float position[3];
    char kind;
    short charge;
  };
  struct Shift {
    int x, y, z;
  };
  const Particle particle{2.5, {1.5f, -2.0f, 8.25f}, 'q', -7};
  const Array<double> out(6);
  Launch("struct_by_value", {1}, {1}, particle, Shift{10, 20, 30}, out);
  ExpectBits(out, {2.5, 11.5, 18.0, 38.25, 'q', -7.0});
}

TEST_F(Cooperation, ListsOnTheDeviceHeap) {
  Load("calls");
  std::vector<int> expected(128);
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 64; ++t) {
      int sum = 0;
      for (int i = 3 + t % 3; i >= 0; --i) sum = sum * 3 + i * t;
      expected[b * 64 + t] = sum;
    }
  }
  const Array<int> out(128);
  Launch("device_lists", {2}, {64}, out);
  ExpectBits(out, expected);
}

// Captures the process's standard output while an object lives.
class CapturedOutput {
 public:
  CapturedOutput() {
    fflush(stdout);
    saved_ = dup(STDOUT_FILENO);
    file_ = tmpfile();
    dup2(fileno(file_), STDOUT_FILENO);
  }
  std::string Finish() {
    fflush(stdout);
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
    std::string text;
    char buffer[4096];
    rewind(file_);
    while (const size_t size = fread(buffer, 1, sizeof buffer, file_)) {
      text.append(buffer, size);
    }
    fclose(file_);
    return text;
  }

 private:
  int saved_;
  FILE* file_;
};

TEST_F(Cooperation, PrintfFromThreads) {
  Load("calls");
  CapturedOutput output;
  Launch("print", {2}, {3}, 5);
  std::string text = output.Finish();
  std::vector<std::string> lines, expected;
  for (size_t at = 0, end; (end = text.find('\n', at)) != text.npos;
       at = end + 1) {
    lines.push_back(text.substr(at, end - at));
  }
  for (int t = 0; t < 5; ++t) {
    char line[100];
    snprintf(line, sizeof line, "thread %d: %5.2f %s %llx%%", t, t * 0.5,
             t % 2 ? "odd" : "even", (1ull << 40) + t);
    expected.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, expected);
}

TEST_F(Cooperation, AssertThatHolds) {
  Load("calls");
  Launch("checked", {1}, {64}, Upload(RandomBelow(64, 10)), 10);
}

TEST_F(Cooperation, TilesOfAWarp) {
  Load("cooperation");
  const auto in = RandomBelow(64, 100);
  std::vector<int> expected(64), odd(64);
  for (int t = 0; t < 64; ++t) {
    const int tile = t / 8 * 8, warp = t / 32 * 32;
    const int sum = std::accumulate(&in[tile], &in[tile] + 8, 0);
    expected[t] = sum * 10 + t % 8;
    if (in[t] % 2 == 0) continue;
    const auto is_odd = [](int value) { return value % 2 != 0; };
    odd[t] = static_cast<int>(std::count_if(&in[warp], &in[warp] + 32, is_odd) *
                                  100 +
                              std::count_if(&in[warp], &in[t], is_odd));
  }
  const Array<int> out(64), odds = Zeros<int>(64);
  Launch("tiles", {1}, {64}, Upload(in), out, odds);
  ExpectBits(out, expected);
  ExpectBits(odds, odd);
}

TEST_F(Cooperation, BarrierObject) {
  Load("cooperation");
  auto values = RandomBelow(128, 100);
  const Array<int> in = Upload(values);
  std::vector<int> expected(128);
  for (int round = 0; round < 4; ++round) {
    const auto old = values;
    for (int t = 0; t < 128; ++t) {
      expected[t] += old[(t + 1) % 128];
      values[t] = old[(t + 1) % 128] * 2 + round;
    }
  }
  const Array<int> out(128);
  Launch("barrier_object", {1}, {128}, in, out);
  ExpectBits(out, expected);
}

TEST_F(Cooperation, PipelineOfCopies) {
  Load("cooperation");
  constexpr int kRounds = 6;
  const auto in = RandomBelow(64 * kRounds, 100);
  std::vector<int> expected(64);
  for (int t = 0; t < 64; ++t) {
    for (int r = 0; r < kRounds; ++r) {
      expected[t] = expected[t] * 3 + in[r * 64 + (t + 1) % 64];
    }
  }
  const Array<int> out(64);
  Launch("pipeline", {1}, {64}, Upload(in), out, kRounds);
  ExpectBits(out, expected);
}

TEST_F(Cooperation, CubReduce) {
  Load("cub_block");
  const auto in = RandomBelow(384, 1000);
  std::vector<int> expected;
  for (int b = 0; b < 3; ++b) {
    expected.push_back(std::accumulate(&in[b * 128], &in[b * 128] + 128, 0));
  }
  const Array<int> sums(3);
  Launch("cub_reduce", {3}, {128}, Upload(in), sums);
  ExpectBits(sums, expected);
}

TEST_F(Cooperation, CubScan) {
  Load("cub_block");
  const auto in = RandomBelow(256, 1000);
  std::vector<int> expected(256);
  for (int b = 0; b < 256; b += 128) {
    std::exclusive_scan(&in[b], &in[b] + 128, &expected[b], 0);
  }
  const Array<int> out(256);
  Launch("cub_scan", {2}, {128}, Upload(in), out);
  ExpectBits(out, expected);
}

TEST_F(Cooperation, CubSort) {
  Load("cub_block");
  auto keys = Random<uint32_t>(512);
  const Array<uint32_t> device = Upload(keys);
  std::sort(keys.begin(), keys.begin() + 256);
  std::sort(keys.begin() + 256, keys.end());
  Launch("cub_sort", {2}, {64}, device);
  ExpectBits(device, keys);
}

TEST_F(Cooperation, CubSelect) {
  Load("cub_device");
  constexpr int kCount = 100000, kTiles = (kCount + 127) / 128;
  const auto in = RandomBelow(kCount, 1000);
  std::vector<int> expected(kCount);
  const auto end = std::copy_if(in.begin(), in.end(), expected.begin(),
                                [](int value) { return value % 3 == 0; });
  const Array<int> out(kCount), found(1);
  const Array<uint64_t> storage(kTiles + 32);
  const Array<int> device = Upload(in);
  for (int round = 0; round < 4; ++round) {
    Launch("cub_tiles", {BlocksFor(kTiles, 128)}, {128}, storage, kTiles);
    Launch("cub_select", {kTiles}, {128}, device, out, found, storage, kCount);
    ExpectBits(found, {static_cast<int>(end - expected.begin())});
    ExpectBits(out, expected);
  }
}

TEST_F(Cooperation, CubMatch) {
  Load("cub_device");
  std::vector<uint32_t> digits(128), peers(128);
  for (uint32_t i = 0; i < 128; ++i) digits[i] = i * i % 11;
  for (uint32_t i = 0; i < 128; ++i) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if (digits[i / 32 * 32 + lane] == digits[i]) peers[i] |= 1u << lane;
    }
  }
  const Array<uint32_t> out(128);
  Launch("cub_match", {1}, {128}, Upload(digits), out);
  ExpectBits(out, peers);
}

TEST_F(Cooperation, Softmax) {
  Load("network");
  constexpr int kRows = 3, kWidth = 300;
  auto in = Random<float>(kRows * kWidth);
  std::vector<float> expected(in.size());
  for (int r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int i = 0; i < kWidth; ++i) sum += std::exp(5.0 * in[r * kWidth + i]);
    for (int i = 0; i < kWidth; ++i) {
      float& value = in[r * kWidth + i];
      expected[r * kWidth + i] =
          static_cast<float>(std::exp(5.0 * value) / sum);
      value *= 5;
    }
  }
  const Array<float> out(in.size());
  Launch("softmax", {kRows}, {128}, Upload(in), out, kWidth);
  ExpectNear(out, expected, 1e-5);
}

TEST_F(Cooperation, Layernorm) {
  Load("network");
  constexpr int kRows = 3, kWidth = 200;
  const auto in = Random<float>(kRows * kWidth),
             gain = Random<float>(kWidth, 2), bias = Random<float>(kWidth, 3);
  std::vector<float> expected(in.size());
  for (int r = 0; r < kRows; ++r) {
    const float* row = &in[r * kWidth];
    const double mean = std::accumulate(row, row + kWidth, 0.0) / kWidth;
    double square = 0;
    for (int i = 0; i < kWidth; ++i)
      square += (row[i] - mean) * (row[i] - mean);
    const double deviation = std::sqrt(square / kWidth + 1e-5);
    for (int i = 0; i < kWidth; ++i) {
      expected[r * kWidth + i] =
          static_cast<float>((row[i] - mean) / deviation * gain[i] + bias[i]);
    }
  }
  const Array<float> out(in.size());
  Launch("layernorm", {kRows}, {128}, Upload(in), Upload(gain), Upload(bias),
         out, kWidth);
  ExpectNear(out, expected, 1e-5);
  // Sums, products, quotients and roots only: the bits are defined.
  const std::vector<float> bits = out.Download();
  CheckGolden(bits.data(), bits.size() * sizeof(float));
}

// Halves are made on the host from values that they hold exactly.
uint16_t ToHalf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if (value == 0) return static_cast<uint16_t>(bits >> 16);
  return static_cast<uint16_t>((bits >> 16 & 0x8000) |
                               (((bits >> 23 & 255) - 112) << 10) |
                               (bits >> 13 & 1023));
}

std::vector<float> Sixteenths(size_t count, unsigned seed) {
  std::vector<float> values(count);
  const auto random = RandomBelow(count, 64, seed);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(random[i] - 32) / 16;
  }
  return values;
}

std::vector<uint16_t> ToHalves(const std::vector<float>& values) {
  std::vector<uint16_t> halves;
  for (const float value : values) halves.push_back(ToHalf(value));
  return halves;
}

TEST_F(Cooperation, AttentionOverHalves) {
  Load("half");
  constexpr int kCount = 40;
  const auto q = Sixteenths(kCount * 16, 1), k = Sixteenths(kCount * 16, 2),
             v = Sixteenths(kCount * 16, 3);
  std::vector<float> expected(kCount * 16);
  for (int i = 0; i < kCount; ++i) {
    double sum = 0, result[16] = {};
    for (int j = 0; j < kCount; ++j) {
      double score = 0;
      for (int d = 0; d < 16; ++d) score += q[i * 16 + d] * k[j * 16 + d];
      const double weight = std::exp(score * 0.25);
      sum += weight;
      for (int d = 0; d < 16; ++d) result[d] += weight * v[j * 16 + d];
    }
    for (int d = 0; d < 16; ++d) {
      expected[i * 16 + d] = static_cast<float>(result[d] / sum);
    }
  }
  const Array<float> out(kCount * 16);
  Launch("attention_f16", {1}, {64}, Upload(ToHalves(q)), Upload(ToHalves(k)),
         Upload(ToHalves(v)), out, kCount);
  ExpectNear(out, expected, 1e-4);
}

TEST_F(Cooperation, AxpyInHalves) {
  Load("half");
  constexpr int kPairs = 200;
  const auto x = Sixteenths(2 * kPairs, 1), y = Sixteenths(2 * kPairs, 2);
  std::vector<float> sums(2 * kPairs);
  // Multiples of 1/32 below 8: exact in a half.
  for (int i = 0; i < 2 * kPairs; ++i) sums[i] = 1.5f * x[i] + y[i];
  std::vector<uint16_t> expected = ToHalves(sums);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (sums[i] == 0) expected[i] = 0;
  }
  const Array<uint16_t> result = Upload(ToHalves(y));
  Launch("axpy_half2", {4}, {64}, Upload(ToHalves(x)), result, 1.5f, kPairs);
  ExpectBits(result, expected);
}

TEST_F(Cooperation, RoundingToBfloat) {
  Load("half");
  constexpr int kCount = 1000;
  const auto in = Random<float>(kCount);
  std::vector<uint16_t> expected(kCount);
  std::vector<float> back(kCount);
  for (int i = 0; i < kCount; ++i) {
    uint32_t bits;
    memcpy(&bits, &in[i], 4);
    bits += 0x7fff + (bits >> 16 & 1);
    expected[i] = static_cast<uint16_t>(bits >> 16);
    bits &= 0xffff0000u;
    memcpy(&back[i], &bits, 4);
  }
  const Array<uint16_t> out(kCount);
  const Array<float> backs(kCount);
  Launch("round_bf16", {BlocksFor(kCount, 128)}, {128}, Upload(in), out, backs,
         kCount);
  ExpectBits(out, expected);
  ExpectBits(backs, back);
}

TEST_F(Cooperation, QuantizeToBytes) {
  Load("network");
  constexpr int kRows = 4, kWidth = 256;
  const auto in = Random<float>(kRows * kWidth);
  std::vector<int8_t> bytes(in.size());
  std::vector<float> scale(kRows);
  for (int r = 0; r < kRows; ++r) {
    float most = 0;
    for (int i = 0; i < kWidth; ++i)
      most = std::max(most, std::abs(in[r * kWidth + i]));
    scale[r] = most / 127.0f;
    for (int i = 0; i < kWidth; ++i) {
      bytes[r * kWidth + i] =
          static_cast<int8_t>(std::nearbyint(in[r * kWidth + i] / scale[r]));
    }
  }
  const Array<int8_t> out(in.size());
  const Array<float> scales(kRows);
  Launch("quantize", {kRows}, {128}, Upload(in), out, scales, kWidth);
  ExpectBits(out, bytes);
  ExpectBits(scales, scale);
}

TEST_F(Cooperation, DotProductsOfBytes) {
  Load("network");
  constexpr int kCount = 100, kBytes = 64;
  const auto a = Random<int8_t>(kCount * kBytes, 1),
             b = Random<int8_t>(kCount * kBytes, 2);
  std::vector<int> expected(kCount);
  for (int i = 0; i < kCount * kBytes; ++i) expected[i / kBytes] += a[i] * b[i];
  const Array<int> products(kCount);
  Launch("dot_int8", {2}, {64}, Upload(a), Upload(b), products, kBytes / 4,
         kCount);
  ExpectBits(products, expected);
}

}  // namespace
}  // namespace holdfast::kernels
