// SPDX-License-Identifier: Apache-2.0
//
// Matrices that warps multiply tile by tile, with nvcuda::wmma. All numbers are
// small and whole, so that sums are exact in whatever order a GPU adds.
#include <bit>

#include "tests/kernels/kernel_test.h"

namespace holdfast::kernels {
namespace {

class Tiles : public KernelTest {};

std::vector<int> Numbers(int count, unsigned seed) {
  std::vector<int> numbers = RandomBelow(static_cast<size_t>(count), 9, seed);
  for (int& number : numbers) number -= 4;
  return numbers;
}

template <typename T>
std::vector<T> As(const std::vector<int>& numbers) {
  return {numbers.begin(), numbers.end()};
}

// The bits of the numbers in f16, which has all whole numbers up to 2048.
std::vector<uint16_t> AsHalves(const std::vector<int>& numbers) {
  std::vector<uint16_t> halves;
  for (const int number : numbers) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(number));
    const uint32_t magnitude =
        number == 0 ? 0 : ((bits >> 13) & 0x3FFFF) - (112 << 10);
    halves.push_back(static_cast<uint16_t>((bits >> 16 & 0x8000) | magnitude));
  }
  return halves;
}

std::vector<uint16_t> AsBFloats(const std::vector<int>& numbers) {
  std::vector<uint16_t> halves;
  for (const int number : numbers) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(number));
    halves.push_back(static_cast<uint16_t>(bits >> 16));
  }
  return halves;
}

struct Size {
  int m;
  int n;
  int depth;
};

// The product of a batch, by rows: a of m x depth lies by rows, b of depth x n
// by columns.
std::vector<int> Product(const std::vector<int>& a, const std::vector<int>& b,
                         const Size& size, int batch = 0) {
  const auto [m, n, depth] = size;
  std::vector<int> product;
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      int sum = 0;
      for (int k = 0; k < depth; ++k) {
        sum += a[static_cast<size_t>((batch * m + row) * depth + k)] *
               b[static_cast<size_t>((batch * n + column) * depth + k)];
      }
      product.push_back(sum);
    }
  }
  return product;
}

TEST_F(Tiles, HalvesFromSharedMemory) {
  Load("tiles");
  constexpr int kSize = 96, kDepth = 64;
  const auto a = Numbers(kSize * kDepth, 1), b = Numbers(kSize * kDepth, 2);
  const auto c = Numbers(kSize * kSize, 3);
  const std::vector<int> product = Product(a, b, {kSize, kSize, kDepth});
  std::vector<float> expected;
  for (size_t i = 0; i < product.size(); ++i) {
    expected.push_back(static_cast<float>(2 * product[i] - 3 * c[i]));
  }
  const Array<float> d(product.size());
  Launch("gemm_half", {3, 3}, {128}, Upload(AsHalves(a)), Upload(AsHalves(b)),
         Upload(As<float>(c)), d, kSize, kDepth, 2.0f, -3.0f);
  ExpectBits(d, expected);
}

// The matrix with rows and columns exchanged.
template <typename T>
std::vector<T> Transposed(const std::vector<T>& matrix, int rows, int batches) {
  const int columns = static_cast<int>(matrix.size()) / rows / batches;
  std::vector<T> result;
  for (int batch = 0; batch < batches; ++batch) {
    for (int column = 0; column < columns; ++column) {
      for (int row = 0; row < rows; ++row) {
        result.push_back(matrix[static_cast<size_t>(
            (batch * rows + row) * columns + column)]);
      }
    }
  }
  return result;
}

TEST_F(Tiles, BatchesOfBytesByColumns) {
  Load("tiles");
  constexpr Size kSize = {64, 32, 48};
  constexpr int kBatches = 3;
  const auto a = Numbers(kBatches * kSize.m * kSize.depth, 1);
  const auto b = Numbers(kBatches * kSize.n * kSize.depth, 2);
  std::vector<int> expected;
  for (int batch = 0; batch < kBatches; ++batch) {
    const std::vector<int> product =
        Transposed(Product(a, b, kSize, batch), kSize.m, 1);
    expected.insert(expected.end(), product.begin(), product.end());
  }
  const auto by_columns = As<int8_t>(Transposed(a, kSize.m, kBatches));
  const auto by_rows = As<int8_t>(Transposed(b, kSize.n, kBatches));
  const auto run = [&](const char* kernel, unsigned columns, unsigned rows) {
    const Array<int> d(expected.size());
    Launch(kernel, {columns, rows, kBatches}, {32}, Upload(by_columns),
           Upload(by_rows), d, kSize.m, kSize.n, kSize.depth);
    ExpectBits(d, expected);
  };
  run("gemm_bytes_tall", kSize.n / 8, kSize.m / 32);
  run("gemm_bytes_wide", kSize.n / 32, kSize.m / 8);
}

// Six tiles in two blocks of three warps, whose elements the program scales.
template <typename T>
std::vector<T> Scaled(const std::vector<int>& a, const std::vector<int>& b,
                      const Size& size) {
  std::vector<T> expected;
  for (int tile = 0; tile < 6; ++tile) {
    for (const int sum : Product(a, b, size, tile)) {
      expected.push_back(static_cast<T>(6 * sum + 1));
    }
  }
  return expected;
}

TEST_F(Tiles, ScaledElements) {
  Load("tiles");
  const auto a = Numbers(6 * 16 * 16, 1), b = Numbers(6 * 16 * 16, 2);
  const Array<double> doubles(6 * 8 * 8);
  Launch("scaled_double", {2}, {96}, Upload(As<double>(a)),
         Upload(As<double>(b)), doubles);
  ExpectBits(doubles, Scaled<double>(a, b, {8, 8, 4}));
  const Array<float> tf32(6 * 16 * 16), bf16(6 * 16 * 16);
  Launch("scaled_tf32", {2}, {96}, Upload(As<float>(a)), Upload(As<float>(b)),
         tf32);
  ExpectBits(tf32, Scaled<float>(a, b, {16, 16, 8}));
  Launch("scaled_bf16", {2}, {96}, Upload(AsBFloats(a)), Upload(AsBFloats(b)),
         bf16);
  ExpectBits(bf16, Scaled<float>(a, b, {16, 16, 16}));
}

}  // namespace
}  // namespace holdfast::kernels
