// SPDX-License-Identifier: Apache-2.0
//
// Fractals, interpreters, text and hashes: threads that each go their own way.
#include <algorithm>
#include <numeric>

#include "tests/kernels/kernel_test.h"

namespace holdfast::kernels {
namespace {

class Divergence : public KernelTest {};

TEST_F(Divergence, Mandelbrot) {
  Load("divergence");
  constexpr int kSize = 90, kLimit = 200;
  std::vector<int> expected;
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      const float cr = -2.0f + 3.0f * static_cast<float>(x) / kSize;
      const float ci = -1.5f + 3.0f * static_cast<float>(y) / kSize;
      float zr = 0, zi = 0;
      int i = 0;
      for (; i < kLimit && zr * zr + zi * zi <= 4.0f; ++i) {
        const float next = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = next;
      }
      expected.push_back(i);
    }
  }
  const Array<int> rounds(expected.size());
  Launch("mandelbrot", {6, 6}, {16, 16}, rounds, kSize, kLimit);
  ExpectBits(rounds, expected);
}

TEST_F(Divergence, Collatz) {
  Load("divergence");
  constexpr int kCount = 2000;
  auto starts = Random<uint32_t>(kCount);
  std::vector<int> expected(kCount);
  for (int i = 0; i < kCount; ++i) {
    starts[i] %= 100000;
    for (uint64_t v = starts[i]; v > 1; ++expected[i]) {
      v = v % 2 == 0 ? v / 2 : 3 * v + 1;
    }
  }
  const Array<int> steps(kCount);
  Launch("collatz", {BlocksFor(kCount, 128)}, {128}, Upload(starts), steps,
         kCount);
  ExpectBits(steps, expected);
}

// The jumps of the kernel, jump by jump.
int Tangled(int in) {
  int value = in & 1023, result = 0;
  for (int a = 0; a < 10; ++a) {
    for (int b = 0; b < 10; ++b) {
      if ((value + a * b) % 7 == 3) break;
      if ((value ^ b) % 31 == 5) return result;
      result += a ^ b;
    }
    if (value % 5 == a) continue;
    bool middle = true;
    if (value & 1) {
      value = 3 * value + 1;
      middle = value > 4000;
    } else {
      value /= 2;
    }
    if (middle) {
      result = static_cast<int>(static_cast<uint32_t>(result) * 5 +
                                static_cast<uint32_t>(value));
    }
  }
  return result;
}

TEST_F(Divergence, TangledLoops) {
  Load("divergence");
  constexpr int kCount = 1000;
  const auto in = RandomBelow(kCount, 1 << 20);
  std::vector<int> expected(kCount);
  for (int i = 0; i < kCount; ++i) expected[i] = Tangled(in[i]);
  const Array<int> out(kCount);
  Launch("tangled", {BlocksFor(kCount, 96)}, {96}, Upload(in), out, kCount);
  ExpectBits(out, expected);
}

TEST_F(Divergence, StackMachine) {
  Load("divergence");
  constexpr int kCount = 300;
  const std::vector<uint8_t> code = {0,  1,  4, 7, 8, 6, 50, 2, 0, 8, 5,
                                     9,  99, 3, 7, 1, 4, 8,  6, 2, 8, 1,
                                     77, 5,  0, 2, 7, 8, 4,  1, 3};
  const auto input = RandomBelow(kCount, 1000);
  std::vector<int> expected(kCount);
  for (int t = 0; t < kCount; ++t) {
    uint32_t stack[16] = {};
    int top = 0;
    const auto at = [&](int depth) -> uint32_t& {
      return stack[(top - depth) & 15];
    };
    for (size_t k = 0; k < code.size(); ++k) {
      switch (code[k]) {
        case 0:
          stack[top++ & 15] = input[t];
          break;
        case 1:
          stack[top++ & 15] = t;
          break;
        case 2:
          at(2) += at(1);
          --top;
          break;
        case 3:
          at(2) -= at(1);
          --top;
          break;
        case 4:
          at(2) *= at(1);
          --top;
          break;
        case 5:
          at(2) ^= at(1);
          --top;
          break;
        case 6:
          at(1) = -at(1);
          break;
        case 7:
          stack[top & 15] = at(1);
          ++top;
          break;
        case 8:
          k += at(1) & 1;
          break;
        default:
          stack[top++ & 15] = code[k];
          break;
      }
    }
    expected[t] = static_cast<int>(at(1));
  }
  const Array<int> out(kCount);
  Launch("interpreter", {BlocksFor(kCount, 64)}, {64}, Upload(code),
         static_cast<int>(code.size()), Upload(input), out, kCount);
  ExpectBits(out, expected);
}

TEST_F(Divergence, StringSearch) {
  Load("text");
  constexpr int kLength = 4000;
  std::vector<char> text(kLength);
  const auto letters = RandomBelow(kLength, 3);
  for (int i = 0; i < kLength; ++i)
    text[i] = static_cast<char>('a' + letters[i]);
  const std::vector<char> pattern = {'a', 'b', 'c', 'a'};
  std::vector<uint8_t> expected(kLength);
  for (int i = 0; i + 4 <= kLength; ++i) {
    expected[i] = std::equal(pattern.begin(), pattern.end(), &text[i]);
  }
  const Array<uint8_t> found(kLength);
  Launch("string_search", {BlocksFor(kLength, 256)}, {256}, Upload(text),
         kLength, Upload(pattern), 4, found);
  ExpectBits(found, expected);
}

TEST_F(Divergence, EditDistance) {
  Load("text");
  constexpr int kWords = 6;
  const auto random = RandomBelow(2 * 64 * kWords, 4);
  std::vector<char> a(64 * kWords), b(64 * kWords);
  std::vector<int> expected;
  for (int i = 0; i < 64 * kWords; ++i) {
    a[i] = static_cast<char>('a' + random[2 * i]);
    b[i] = static_cast<char>('a' + random[2 * i + 1]);
  }
  for (int w = 0; w < kWords; ++w) {
    std::vector<int> row(65);
    std::iota(row.begin(), row.end(), 0);
    for (int i = 0; i < 64; ++i) {
      std::vector<int> next = {i + 1};
      for (int j = 0; j < 64; ++j) {
        const int swap = row[j] + (a[64 * w + i] != b[64 * w + j]);
        next.push_back(std::min({swap, row[j + 1] + 1, next[j] + 1}));
      }
      row = next;
    }
    expected.push_back(row[64]);
  }
  const Array<int> distances(kWords);
  Launch("edit_distance", {kWords}, {64}, Upload(a), Upload(b), distances);
  ExpectBits(distances, expected);
}

TEST_F(Divergence, Crc32) {
  Load("text");
  constexpr int kCount = 100, kSize = 33;
  const auto data = Random<uint8_t>(kCount * kSize);
  std::vector<uint32_t> table(256), expected;
  for (uint32_t i = 0; i < 256; ++i) {
    table[i] = i;
    for (int k = 0; k < 8; ++k) {
      table[i] = (table[i] & 1 ? 0xEDB88320u : 0) ^ table[i] >> 1;
    }
  }
  for (int r = 0; r < kCount; ++r) {
    uint32_t crc = ~0u;
    for (int k = 0; k < kSize; ++k) {
      crc = table[(crc ^ data[r * kSize + k]) & 255] ^ crc >> 8;
    }
    expected.push_back(~crc);
  }
  SetGlobal("crc_table", table);
  const Array<uint32_t> sums(kCount);
  Launch("crc32", {2}, {64}, Upload(data), kSize, sums, kCount);
  ExpectBits(sums, expected);
}

// The digests of blocks that hold a padded message: known answers.
TEST_F(Divergence, Sha256OfABlock) {
  Load("text");
  std::vector<uint32_t> constants;
  for (uint32_t prime = 2; constants.size() < 64; ++prime) {
    bool divided = false;
    for (uint32_t d = 2; d * d <= prime; ++d) divided |= prime % d == 0;
    if (divided) continue;
    const long double root = cbrtl(prime);
    constants.push_back(
        static_cast<uint32_t>((root - floorl(root)) * 4294967296.0L));
  }
  SetGlobal("sha_table", constants);
  std::vector<uint8_t> blocks(128);
  const char message[] = "abc";
  std::copy(message, message + 3, blocks.begin());
  blocks[3] = 0x80;
  blocks[63] = 24;  // bits
  blocks[64] = 0x80;
  const Array<uint32_t> digests(16);
  Launch("sha256", {1}, {32}, Upload(blocks), digests, 2);
  ExpectBits(digests, {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
                       0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad,
                       0xe3b0c442, 0x98fc1c14, 0x9afbf4c8, 0x996fb924,
                       0x27ae41e4, 0x649b934c, 0xa495991b, 0x7852b855});
}

}  // namespace
}  // namespace holdfast::kernels
