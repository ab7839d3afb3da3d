// SPDX-License-Identifier: Apache-2.0
//
// wmma as programs use it, by nvcuda::wmma: every shape and type, the orders of
// rows and columns, tiles of larger matrices, elements that a program changes,
// and addresses that are bad.
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

// A type of elements: its name in CUDA C++, the type of the array that holds
// it, and the bytes of a number, which must be small and whole.
struct Element {
  const char* name;
  const char* stored;
  size_t bytes;
  void (*put)(int number, void* place);
  double (*get)(const void* place);
};

template <typename T>
void Put(int number, void* place) {
  const auto value = static_cast<T>(number);
  std::memcpy(place, &value, sizeof(value));
}

template <typename T>
double Get(const void* place) {
  T value;
  std::memcpy(&value, place, sizeof(value));
  return static_cast<double>(value);
}

// f16 has the exponents of a float, less 112, and the upper bits of its
// fraction.
void PutHalf(int number, void* place) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(number));
  const uint32_t magnitude =
      number == 0 ? 0 : (bits >> 13 & 0x3FFFF) - (112U << 10);
  const auto half = static_cast<uint16_t>((bits >> 16 & 0x8000) | magnitude);
  std::memcpy(place, &half, sizeof(half));
}

double GetHalf(const void* place) {
  uint16_t half;
  std::memcpy(&half, place, sizeof(half));
  const uint32_t magnitude = half & 0x7FFF;
  if (magnitude == 0) return 0;
  const uint32_t bits =
      (half & 0x8000U) << 16 | ((magnitude << 13) + (112U << 23));
  return std::bit_cast<float>(bits);
}

void PutBFloat(int number, void* place) {
  const auto value = static_cast<float>(number);
  std::memcpy(place, reinterpret_cast<const char*>(&value) + 2, 2);
}

constexpr Element kHalf = {"half", "half", 2, PutHalf, GetHalf};
constexpr Element kBFloat = {"__nv_bfloat16", "__nv_bfloat16", 2, PutBFloat,
                             nullptr};
constexpr Element kSigned = {"signed char", "signed char", 1, Put<int8_t>,
                             nullptr};
constexpr Element kUnsigned = {"unsigned char", "unsigned char", 1,
                               Put<uint8_t>, nullptr};
constexpr Element kTF32 = {"wmma::precision::tf32", "float", 4, Put<float>,
                           nullptr};
constexpr Element kFloat = {"float", "float", 4, Put<float>, Get<float>};
constexpr Element kDouble = {"double", "double", 8, Put<double>, Get<double>};
constexpr Element kInt = {"int", "int", 4, Put<int32_t>, Get<int32_t>};

struct Shape {
  int rows;
  int columns;
  int depth;
};

std::vector<std::string> Definitions(const Shape& shape, const Element& factor,
                                     const Element& sum) {
  return {"-DM=" + std::to_string(shape.rows),
          "-DN=" + std::to_string(shape.columns),
          "-DK=" + std::to_string(shape.depth),
          std::string("-DFACTOR=") + factor.name,
          std::string("-DSTORED=") + factor.stored,
          std::string("-DSUM=") + sum.name};
}

// A matrix in the memory of a program, longer lines than its own included.
class Matrix {
 public:
  Matrix(const Element& element, int rows, int columns, bool by_columns,
         int stride)
      : element_(element),
        rows_(rows),
        columns_(columns),
        by_columns_(by_columns),
        stride_(stride),
        storage_(element.bytes * static_cast<size_t>(stride * 64) + kBoundary) {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    data_ = storage_.data() + (kBoundary - address % kBoundary);
  }

  template <typename Number>
  void Fill(Number number) {
    for (int row = 0; row < rows_; ++row) {
      for (int column = 0; column < columns_; ++column) {
        element_.put(number(row, column), Place(row, column));
      }
    }
  }
  double At(int row, int column) const {
    return element_.get(Place(row, column));
  }
  unsigned char* data() const { return data_; }
  int stride() const { return stride_; }

 private:
  static constexpr size_t kBoundary = 32;

  unsigned char* Place(int row, int column) const {
    const int at =
        by_columns_ ? column * stride_ + row : row * stride_ + column;
    return data_ + static_cast<size_t>(at) * element_.bytes;
  }

  const Element& element_;
  const int rows_, columns_;
  const bool by_columns_;
  const int stride_;
  mutable std::vector<unsigned char> storage_;
  unsigned char* data_;
};

// Small enough for every type; unsigned ones take it as it is.
int Number(int seed, int row, int column) {
  return static_cast<int>(
      Bits(static_cast<uint32_t>(seed * 65536 + row * 256 + column)) % 6);
}

constexpr char kTile[] = R"(
#include <mma.h>
using namespace nvcuda;

template <typename Fragment> __device__ void Double(Fragment& f) {
  for (int i = 0; i < f.num_elements; ++i) f.x[i] = f.x[i] + f.x[i];
}

template <typename LayoutA, typename LayoutB>
__device__ void Multiply(const STORED* a, const STORED* b, const SUM* c, SUM* d, int lda, int ldb,
                         int ldc, wmma::layout_t layout, int doubled) {
  wmma::fragment<wmma::matrix_a, M, N, K, FACTOR, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, FACTOR, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, SUM> fc;
  wmma::load_matrix_sync(fa, a, lda);
  wmma::load_matrix_sync(fb, b, ldb);
  wmma::load_matrix_sync(fc, c, ldc, layout);
  if (doubled & 1) Double(fa);
  if (doubled & 2) Double(fb);
  if (doubled & 4) Double(fc);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(d, fc, ldc, layout);
}

extern "C" __global__ void k(const STORED* a, const STORED* b, const SUM* c, SUM* d, int lda,
                             int ldb, int ldc, int columns, int doubled) {
  const wmma::layout_t layout = columns & 4 ? wmma::mem_col_major : wmma::mem_row_major;
  typedef wmma::row_major Row;
  typedef wmma::col_major Col;
  switch (columns & 3) {
    case 0: return Multiply<Row, Row>(a, b, c, d, lda, ldb, ldc, layout, doubled);
    case 1: return Multiply<Col, Row>(a, b, c, d, lda, ldb, ldc, layout, doubled);
    case 2: return Multiply<Row, Col>(a, b, c, d, lda, ldb, ldc, layout, doubled);
    case 3: return Multiply<Col, Col>(a, b, c, d, lda, ldb, ldc, layout, doubled);
  }
})";

// One product: which matrices lie by columns, which fragments the program
// doubles (1: a, 2: b, 4: c or d), and how much longer lines are than tiles.
struct Variant {
  int columns;
  int doubled;
  int further;
};

void ExpectProduct(KernelProgram& program, const Shape& shape,
                   const Element& factor, const Element& sum,
                   const Variant& variant) {
  const auto [m, n, k] = shape;
  const auto matrix = [&](const Element& element, int rows, int columns,
                          int bit) {
    const bool by_columns = (variant.columns & bit) != 0;
    return Matrix(element, rows, columns, by_columns,
                  (by_columns ? rows : columns) + variant.further);
  };
  Matrix a = matrix(factor, m, k, 1), b = matrix(factor, k, n, 2);
  Matrix c = matrix(sum, m, n, 4), d = matrix(sum, m, n, 4);
  a.Fill([](int row, int column) { return Number(1, row, column); });
  b.Fill([](int row, int column) { return Number(2, row, column); });
  c.Fill([](int row, int column) { return Number(3, row, column); });
  ExpectSuccess(program.Run(Geometry(1, 32), a.data(), b.data(), c.data(),
                            d.data(), a.stride(), b.stride(), c.stride(),
                            variant.columns, variant.doubled));
  const auto times = [&](int bit) { return variant.doubled & bit ? 2 : 1; };
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      int expected = times(4) * Number(3, row, column);
      for (int i = 0; i < k; ++i) {
        expected +=
            times(1) * Number(1, row, i) * times(2) * Number(2, i, column);
      }
      ASSERT_EQ(d.At(row, column), expected)
          << row << ", " << column << " of " << m << "x" << n << "x" << k << " "
          << factor.name << " to " << sum.name << ", by columns "
          << variant.columns << ", doubled " << variant.doubled;
    }
  }
}

void ExpectProducts(const Shape& shape, const Element& factor,
                    const Element& sum) {
  KernelProgram program(kTile, Definitions(shape, factor, sum));
  for (int columns = 0; columns < 8; ++columns) {
    ExpectProduct(program, shape, factor, sum, {columns, 0, 0});
    ExpectProduct(program, shape, factor, sum, {columns, columns, 32});
  }
  ExpectProduct(program, shape, factor, sum, {0, 7, 16});
}

constexpr Shape kShapes[] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}};

TEST(TileTest, HalvesAreMultipliedInEveryShape) {
  for (const Shape& shape : kShapes) {
    ExpectProducts(shape, kHalf, kFloat);
    ExpectProducts(shape, kHalf, kHalf);
  }
}

TEST(TileTest, BFloatsAreMultipliedInEveryShape) {
  for (const Shape& shape : kShapes) ExpectProducts(shape, kBFloat, kFloat);
}

TEST(TileTest, BytesAreMultipliedInEveryShape) {
  for (const Shape& shape : kShapes) {
    ExpectProducts(shape, kSigned, kInt);
    ExpectProducts(shape, kUnsigned, kInt);
  }
}

TEST(TileTest, TF32AndDoublesAreMultiplied) {
  ExpectProducts({16, 16, 8}, kTF32, kFloat);
  ExpectProducts({8, 8, 4}, kDouble, kDouble);
}

// Tiles of a 64x64x64 product, in shared memory with longer lines than they
// need; each of four warps has a strip of them. `parted`: the lanes have parted
// before, and meet at the first load.
constexpr char kGemm[] = R"(
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const STORED* a, const STORED* b, SUM* d, int parted) {
  constexpr int kSize = 64, kLine = kSize + 16;
  __shared__ alignas(32) STORED as[kSize * kLine], bs[kSize * kLine];
  for (int i = threadIdx.x; i < kSize * kSize; i += blockDim.x) {
    as[i / kSize * kLine + i % kSize] = a[i];
    bs[i / kSize * kLine + i % kSize] = b[i];
  }
  __syncthreads();
  if (parted) for (int i = 0; i < threadIdx.x % 5; ++i) asm volatile("nanosleep.u32 1;");
  const int warp = threadIdx.x / 32;
  for (int row = warp * M; row < kSize; row += blockDim.x / 32 * M) {
    for (int column = 0; column < kSize; column += N) {
      wmma::fragment<wmma::accumulator, M, N, K, SUM> sums;
      wmma::fill_fragment(sums, (SUM)0);
      for (int step = 0; step < kSize; step += K) {
        wmma::fragment<wmma::matrix_a, M, N, K, FACTOR, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, M, N, K, FACTOR, wmma::row_major> y;
        wmma::load_matrix_sync(x, as + row * kLine + step, kLine);
        wmma::load_matrix_sync(y, bs + step * kLine + column, kLine);
        wmma::mma_sync(sums, x, y, sums);
      }
      wmma::store_matrix_sync(d + row * kSize + column, sums, kSize, wmma::mem_row_major);
    }
  }
})";

void ExpectGemm(const Shape& shape, const Element& factor, const Element& sum) {
  constexpr int kSize = 64;
  KernelProgram program(kGemm, Definitions(shape, factor, sum));
  Matrix a(factor, kSize, kSize, false, kSize);
  Matrix b(factor, kSize, kSize, false, kSize);
  a.Fill([](int row, int column) { return Number(1, row, column); });
  b.Fill([](int row, int column) { return Number(2, row, column); });
  for (const int parted : {0, 1}) {
    Matrix d(sum, kSize, kSize, false, kSize);
    ExpectSuccess(
        program.Run(Geometry(1, 128), a.data(), b.data(), d.data(), parted));
    for (int row = 0; row < kSize; ++row) {
      for (int column = 0; column < kSize; ++column) {
        int expected = 0;
        for (int i = 0; i < kSize; ++i) {
          expected += Number(1, row, i) * Number(2, i, column);
        }
        ASSERT_EQ(d.At(row, column), expected)
            << row << ", " << column << ", " << factor.name;
      }
    }
  }
}

TEST(TileTest, TilesInSharedMemoryAreMultiplied) {
  ExpectGemm({16, 16, 16}, kHalf, kFloat);
  ExpectGemm({16, 16, 16}, kBFloat, kFloat);
  ExpectGemm({16, 16, 16}, kSigned, kInt);
  ExpectGemm({16, 16, 8}, kTF32, kFloat);
  ExpectGemm({8, 8, 4}, kDouble, kDouble);
}

constexpr char kNarrow[] = R"(
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void k(const unsigned* a, const unsigned* b, int* d) {
  typedef experimental::precision::TYPE Type;
  fragment<matrix_a, 8, 8, K, Type, row_major> x;
  fragment<matrix_b, 8, 8, K, Type, col_major> y;
  fragment<accumulator, 8, 8, K, int> sums;
  load_matrix_sync(x, a, K);
  load_matrix_sync(y, b, K);
  fill_fragment(sums, 1000);
  MULTIPLY(sums, x, y, sums);
  store_matrix_sync(d, sums, 8, mem_row_major);
})";

// Runs kNarrow on 8 lines of 4 words for a and b. `term` is what a pair of
// words adds to a sum.
template <typename Term>
void ExpectNarrow(const std::vector<std::string>& options, int line_words,
                  Term term) {
  KernelProgram program(kNarrow, options);
  alignas(16) uint32_t a[32], b[32];
  alignas(16) int32_t d[64] = {};
  for (uint32_t i = 0; i < 32; ++i) {
    a[i] = Bits(i);
    b[i] = Bits(i + 1000);
  }
  ExpectSuccess(program.Run(Geometry(1, 32), +a, +b, +d));
  for (int at = 0; at < 64; ++at) {
    int expected = 1000;
    for (int i = 0; i < line_words; ++i) {
      expected += term(a[at / 8 * line_words + i], b[at % 8 * line_words + i]);
    }
    ASSERT_EQ(d[at], expected) << at << options[0];
  }
}

template <bool is_signed>
int ProductOfNibbles(uint32_t a, uint32_t b) {
  const auto nibble = [](uint32_t word, int i) {
    const auto bits = static_cast<int>(word >> (4 * i) & 15);
    return is_signed && bits >= 8 ? bits - 16 : bits;
  };
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum += nibble(a, i) * nibble(b, i);
  return sum;
}

TEST(TileTest, NibblesAreMultiplied) {
  ExpectNarrow({"-DTYPE=s4", "-DK=32", "-DMULTIPLY=mma_sync"}, 4,
               ProductOfNibbles<true>);
  ExpectNarrow({"-DTYPE=u4", "-DK=32", "-DMULTIPLY=mma_sync"}, 4,
               ProductOfNibbles<false>);
}

TEST(TileTest, BitsAreCounted) {
  const std::string multiply =
      "-DMULTIPLY(d,a,b,c)=bmma_sync(d,a,b,c,experimental::bmmaBitOp";
  ExpectNarrow(
      {"-DTYPE=b1", "-DK=128", multiply + "XOR)"}, 4,
      [](uint32_t a, uint32_t b) { return __builtin_popcount(a ^ b); });
  ExpectNarrow(
      {"-DTYPE=b1", "-DK=128", multiply + "AND)"}, 4,
      [](uint32_t a, uint32_t b) { return __builtin_popcount(a & b); });
}

TEST(TileTest, SumsOfBytesWrapOrSaturate) {
  const auto sum_of = [](const std::string& saturates) {
    KernelProgram program(R"(
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void k(int* d) {
  fragment<matrix_a, 16, 16, 16, signed char, row_major> x;
  fragment<matrix_b, 16, 16, 16, signed char, col_major> y;
  fragment<accumulator, 16, 16, 16, int> sums;
  fill_fragment(x, -128);
  fill_fragment(y, 127);
  fill_fragment(sums, (int)0x80000005);
  mma_sync(sums, x, y, sums, )" +
                          saturates + R"();
  store_matrix_sync(d, sums, 16, mem_row_major);
})");
    alignas(32) int32_t d[256] = {};
    ExpectSuccess(program.Run(Geometry(1, 32), +d));
    return d[255];
  };
  EXPECT_EQ(sum_of("true"), INT32_MIN);
  EXPECT_EQ(sum_of("false"),
            static_cast<int32_t>(0x80000005U - 128U * 127U * 16U));
}

// 1 + 2^-60 lies between two doubles.
TEST(TileTest, ProductsOfDoublesRoundAsTheySay) {
  const auto sum_of = [](const std::string& rounding) {
    KernelProgram program(R"(
extern "C" __global__ void k(double* d) {
  double r[2];
  asm volatile("wmma.mma.sync.aligned.row.col.m8n8k4)" +
                          rounding +
                          R"(.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %4};"
               : "=d"(r[0]), "=d"(r[1])
               : "d"(threadIdx.x % 4 == 0 ? 0x1p-30 : 0), "d"(0x1p-30), "d"(1.0));
  d[threadIdx.x] = r[0];
})");
    double d[32] = {};
    ExpectSuccess(program.Run(Geometry(1, 32), +d));
    return d[17];
  };
  EXPECT_EQ(sum_of(""), 1.0);
  EXPECT_EQ(sum_of(".rn"), 1.0);
  EXPECT_EQ(sum_of(".rz"), 1.0);
  EXPECT_EQ(sum_of(".rm"), 1.0);
  EXPECT_EQ(sum_of(".rp"), 1.0 + 0x1p-52);
}

// c and d may have different types, though nvcuda::wmma knows no such product.
TEST(TileTest, SumsOfHalvesMayBecomeFloats) {
  KernelProgram program(R"(
extern "C" __global__ void k(const unsigned short* a, const unsigned short* c, float* d) {
  asm volatile("{ .reg .b32 a<8>, c<4>; .reg .f32 d<8>;\n"
               "wmma.load.a.sync.aligned.row.m16n16k16.f16 {a0, a1, a2, a3, a4, a5, a6, a7}, [%0];\n"
               "wmma.load.c.sync.aligned.row.m16n16k16.f16 {c0, c1, c2, c3}, [%1];\n"
               "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f16 {d0, d1, d2, d3, d4, d5, d6, d7},"
               " {a0, a1, a2, a3, a4, a5, a6, a7}, {a0, a1, a2, a3, a4, a5, a6, a7}, {c0, c1, c2, c3};\n"
               "wmma.store.d.sync.aligned.col.m16n16k16.f32 [%2], {d0, d1, d2, d3, d4, d5, d6, d7}; }"
               :: "l"(a), "l"(c), "l"(d) : "memory");
})");
  alignas(32) uint16_t a[256] = {}, c[256];
  alignas(32) float d[256] = {};
  for (int i = 0; i < 256; ++i) PutHalf(i, &c[i]);
  ExpectSuccess(program.Run(Geometry(1, 32), +a, +c, +d));
  for (int i = 0; i < 256; ++i) EXPECT_EQ(d[i % 16 * 16 + i / 16], i);
}

constexpr char kLoad[] = R"(
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void k(const half* from, float* to, int stride, int further) {
  fragment<matrix_a, 16, 16, 16, half, row_major> x;
  fragment<matrix_b, 16, 16, 16, half, row_major> y;
  fragment<accumulator, 16, 16, 16, float> sums;
  load_matrix_sync(x, from, stride);
  fill_fragment(y, __float2half(1));
  fill_fragment(sums, 0);
  mma_sync(sums, x, y, sums);
  store_matrix_sync(to + further, sums, 16, mem_row_major);
})";

// Lines lie on boundaries of 16 bytes.
TEST(TileTest, BadLinesAreFaults) {
  alignas(32) uint16_t from[64 * 16] = {};
  alignas(32) float to[256 + 16] = {};
  KernelProgram program(kLoad);
  const auto run = [&](uint64_t offset, int stride, int further) {
    const uint64_t address = reinterpret_cast<uint64_t>(+from) + offset;
    return program.Run(Geometry(1, 32), address, +to, stride, further);
  };
  ExpectSuccess(run(0, 16, 0));
  ExpectSuccess(run(16, 24, 4));
  const LaunchOutcome odd_stride = run(0, 20, 0);
  EXPECT_EQ(odd_stride.result, CUDA_ERROR_MISALIGNED_ADDRESS);
  for (const char* part :
       {"thread (0,0,0), PTX line", "wmma", "is not a multiple of 16"}) {
    EXPECT_NE(odd_stride.message.find(part), std::string::npos)
        << odd_stride.message;
  }
  EXPECT_EQ(run(8, 16, 0).result, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(run(0, 16, 1).result, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(run(uint64_t{1} << 46, 16, 0).result, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(run(0, 16, 1 << 30).result, CUDA_ERROR_ILLEGAL_ADDRESS);
  // Only some lines lie outside.
  EXPECT_EQ(run(0, 0x7FFFFFF0, 0).result, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(TileTest, SharedTilesStayInTheBlocksMemory) {
  KernelProgram program(R"(
extern "C" __global__ void k(unsigned* out, unsigned offset, unsigned stride) {
  __shared__ alignas(32) unsigned tile[256];
  for (int i = threadIdx.x; i < 256; i += 32) tile[i] = i;
  __syncthreads();
  unsigned r[8];
  asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.shared.s32 "
               "{%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]),
                 "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
               : "r"((unsigned)__cvta_generic_to_shared(tile) + offset), "r"(stride) : "memory");
  unsigned sum = 0;
  for (int i = 0; i < 8; ++i) sum += r[i];
  atomicAdd(out, sum);
})");
  const auto run = [&](unsigned offset, unsigned stride) {
    uint32_t sum = 0;
    const LaunchOutcome outcome =
        program.Run(Geometry(1, 32), &sum, offset, stride);
    if (outcome.result == CUDA_SUCCESS) {
      EXPECT_EQ(sum, 255U * 256U / 2U);
    }
    return outcome.result;
  };
  EXPECT_EQ(run(0, 16), CUDA_SUCCESS);
  EXPECT_EQ(run(16 * 15 * 4, static_cast<unsigned>(-16)), CUDA_SUCCESS);
  EXPECT_EQ(run(4, 16), CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(run(0, 18), CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(run(0x10000, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(run(0, 0x4000), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(run(0, static_cast<unsigned>(-16)), CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
}  // namespace holdfast::software
