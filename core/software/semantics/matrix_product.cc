// SPDX-License-Identifier: Apache-2.0
//
// All types of mma share one layout. With g = lane / 4 and t = lane % 4, and p
// elements in a register:
//
//   a  register r: row g, or g + 8 for odd r of 16 rows; columns t * p + i, and
//      4 * p more for each register, or for each two of 16 rows
//   b  register r: rows t * p + i + r * 4 * p; column g
//   d  element e of the lane: row g + 8 * (e / 2), column 2 * t + e % 2
#include "core/software/semantics/matrix_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/software/semantics/conversion.h"
#include "core/software/semantics/rounding_scope.h"

namespace holdfast::software {
namespace {

using ptx::Type;

constexpr int kLanes = 32;
constexpr int kColumns = 8;
constexpr int kMostRows = 16;
constexpr int kMostDepth = 128;

template <typename T>
struct Matrices {
  T a[kMostRows][kMostDepth];
  T b[kMostDepth][kColumns];
  T d[kMostRows][kColumns];
};

// A number of fewer bits as a float: its exponent and fraction, where a float
// has them, are that of a number that is `scale` times too small. Subnormal
// numbers need nothing else.
float Widened(uint32_t magnitude, float scale, uint32_t sign, bool is_special) {
  const float value = std::bit_cast<float>(magnitude) * scale;
  const uint32_t bits =
      is_special ? magnitude | 0x7F800000 : std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>(bits | sign << 31);
}

float FromF16(uint32_t bits) {
  return Widened((bits & 0x7FFF) << 13, 0x1p112F, bits >> 15 & 1,
                 (bits & 0x7C00) == 0x7C00);
}

// Where others have infinities, e4m3 has numbers, but for its one NaN.
float FromE4M3(uint32_t bits) {
  return Widened((bits & 0x7F) << 20, 0x1p120F, bits >> 7 & 1,
                 (bits & 0x7F) == 0x7F);
}

float FloatNumber(Type type, uint32_t bits) {
  switch (type) {
    case Type::kF16:
      return FromF16(bits);
    case Type::kE5M2:
      return FromF16(bits << 8);
    case Type::kE4M3:
      return FromE4M3(bits);
    case Type::kBF16:
      return std::bit_cast<float>(bits << 16);
    case Type::kTF32:
      return std::bit_cast<float>(bits & 0xFFFFE000);
    default:
      return std::bit_cast<float>(bits);
  }
}

int32_t IntegerNumber(Type type, uint32_t bits) {
  const int unused = 32 - ptx::BitsOf(type);
  return ptx::IsSigned(type) ? static_cast<int32_t>(bits << unused) >> unused
                             : static_cast<int32_t>(bits);
}

template <typename T>
T NumberOf(Type type, uint32_t bits) {
  if constexpr (std::is_same_v<T, double>) {
    return FloatNumber(type, bits);
  } else {
    return IntegerNumber(type, bits);
  }
}

// Calls take(row, column, number) for the elements of an operand whose
// registers number as many as `rows` times `columns` elements need. `tall`: two
// registers lie side by side, eight rows apart.
template <typename T, typename Take>
void ForEachElement(Type type, int elements, bool tall, const void* words,
                    Take take) {
  const int bits = ptx::BitsOf(type);
  const int parts = std::max(1, 32 / bits);
  const int registers = elements / (kLanes * parts);
  const auto* narrow = static_cast<const uint32_t*>(words);
  for (int at = 0; at < registers * kLanes; ++at) {
    const int r = at / kLanes, lane = at % kLanes;
    const int outer = lane / 4 + (tall ? 8 * (r & 1) : 0);
    const int inner = lane % 4 * parts + (tall ? r >> 1 : r) * 4 * parts;
    if (bits == 64) {
      T number;
      std::memcpy(&number, static_cast<const uint64_t*>(words) + at,
                  sizeof(number));
      take(outer, inner, number);
      continue;
    }
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    for (int i = 0; i < parts; ++i) {
      take(outer, inner + i,
           NumberOf<T>(type,
                       static_cast<uint32_t>(narrow[at] >> (i * bits) & mask)));
    }
  }
}

template <typename T>
void TakeFactors(const MatrixProduct& product, const void* a, const void* b,
                 Matrices<T>* m) {
  ForEachElement<T>(product.a, product.rows * product.depth,
                    product.rows == kMostRows, a,
                    [m](int row, int k, T number) { m->a[row][k] = number; });
  ForEachElement<T>(
      product.b, product.depth * kColumns, false, b,
      [m](int column, int k, T number) { m->b[k][column] = number; });
}

// Element e of lane `at % 32` is register e, or half of register e / 2.
template <typename Take>
void ForEachResult(int rows, Take take) {
  for (int at = 0; at < rows / 4 * kLanes; ++at) {
    const int e = at / kLanes, lane = at % kLanes;
    take(e, lane, lane / 4 + 8 * (e / 2), lane % 4 * 2 + e % 2);
  }
}

template <typename T>
void Multiply(const MatrixProduct& product, Matrices<T>* m) {
  for (int row = 0; row < product.rows; ++row) {
    for (int k = 0; k < product.depth; ++k) {
      const T factor = m->a[row][k];
      for (int column = 0; column < kColumns; ++column) {
        m->d[row][column] += factor * m->b[k][column];
      }
    }
  }
}

// Each sum is rounded as often as a product is added to it.
void MultiplyDoubles(const MatrixProduct& product, Matrices<double>* m) {
  const RoundingScope scope(product.rounding);
  for (int row = 0; row < product.rows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      volatile double sum = m->d[row][column];
      for (int k = 0; k < product.depth; ++k) {
        sum = std::fma(m->a[row][k], m->b[k][column], sum);
      }
      m->d[row][column] = sum;
    }
  }
}

void CountBits(const MatrixProduct& product, Matrices<int32_t>* m) {
  const bool both = product.term == MatrixProduct::Term::kAnd;
  for (int row = 0; row < product.rows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      for (int k = 0; k < product.depth; ++k) {
        const int32_t a = m->a[row][k], b = m->b[k][column];
        m->d[row][column] += both ? a & b : a ^ b;
      }
    }
  }
}

// Sums of products fit into 32 bits; c need not.
void MultiplyIntegers(const MatrixProduct& product, const void* a,
                      const void* b, const void* c, void* d) {
  Matrices<int32_t> m;
  TakeFactors(product, a, b, &m);
  std::memset(m.d, 0, sizeof(m.d));
  if (product.term == MatrixProduct::Term::kProduct) {
    Multiply(product, &m);
  } else {
    CountBits(product, &m);
  }
  ForEachResult(product.rows, [&](int e, int lane, int row, int column) {
    const int at = e * kLanes + lane;
    int64_t sum =
        int64_t{static_cast<const int32_t*>(c)[at]} + m.d[row][column];
    if (product.saturate) {
      sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                                std::numeric_limits<int32_t>::max());
    }
    static_cast<int32_t*>(d)[at] = static_cast<int32_t>(sum);
  });
}

// The accumulator of a lane: whole words, or halves of them for f16.
double Accumulator(Type type, const void* c, int e, int lane) {
  if (type == Type::kF64)
    return static_cast<const double*>(c)[e * kLanes + lane];
  if (type == Type::kF32)
    return static_cast<const float*>(c)[e * kLanes + lane];
  const uint32_t word = static_cast<const uint32_t*>(c)[e / 2 * kLanes + lane];
  return FloatNumber(Type::kF16, word >> (16 * (e % 2)) & 0xFFFF);
}

uint32_t ToHalf(double value) {
  if (std::isnan(value)) return 0x7FFF;
  Conversion conversion;
  conversion.to = Type::kF16;
  conversion.from = Type::kF64;
  return static_cast<uint32_t>(
      Convert(conversion, std::bit_cast<uint64_t>(value), 0, 0));
}

void PutResult(Type type, double value, int e, int lane, void* d) {
  if (type == Type::kF64) {
    static_cast<double*>(d)[e * kLanes + lane] = value;
    return;
  }
  auto* words = static_cast<uint32_t*>(d);
  if (type == Type::kF32) {
    words[e * kLanes + lane] =
        std::isnan(value) ? 0x7FFFFFFF
                          : std::bit_cast<uint32_t>(static_cast<float>(value));
    return;
  }
  uint32_t& word = words[e / 2 * kLanes + lane];
  const uint32_t half = ToHalf(value);
  word = e % 2 == 0 ? half : word | half << 16;
}

void MultiplyFloats(const MatrixProduct& product, const void* a, const void* b,
                    const void* c, void* d) {
  Matrices<double> m;
  TakeFactors(product, a, b, &m);
  ForEachResult(product.rows, [&](int e, int lane, int row, int column) {
    m.d[row][column] = Accumulator(product.c, c, e, lane);
  });
  if (product.d == Type::kF64) {
    MultiplyDoubles(product, &m);
  } else {
    Multiply(product, &m);
  }
  ForEachResult(product.rows, [&](int e, int lane, int row, int column) {
    PutResult(product.d, m.d[row][column], e, lane, d);
  });
}

}  // namespace

uint64_t PackMatrixProduct(const MatrixProduct& product) {
  return static_cast<uint64_t>(product.rows) |
         static_cast<uint64_t>(product.depth) << 8 |
         static_cast<uint64_t>(product.a) << 16 |
         static_cast<uint64_t>(product.b) << 24 |
         static_cast<uint64_t>(product.c) << 32 |
         static_cast<uint64_t>(product.d) << 40 |
         static_cast<uint64_t>(product.term) << 48 |
         uint64_t{product.saturate} << 50 | uint64_t{product.rounding} << 52;
}

MatrixProduct UnpackMatrixProduct(uint64_t option) {
  const auto field = [option](int shift) {
    return static_cast<uint8_t>(option >> shift);
  };
  MatrixProduct product;
  product.rows = field(0);
  product.depth = field(8);
  product.a = static_cast<Type>(field(16));
  product.b = static_cast<Type>(field(24));
  product.c = static_cast<Type>(field(32));
  product.d = static_cast<Type>(field(40));
  product.term = static_cast<MatrixProduct::Term>(option >> 48 & 3);
  product.saturate = (option >> 50 & 1) != 0;
  product.rounding = static_cast<uint32_t>(option >> 52 & 3);
  return product;
}

void MultiplyMatrices(const MatrixProduct& product, const void* a,
                      const void* b, const void* c, void* d) {
  if (product.d == Type::kS32) return MultiplyIntegers(product, a, b, c, d);
  MultiplyFloats(product, a, b, c, d);
}

}  // namespace holdfast::software
