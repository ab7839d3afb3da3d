// SPDX-License-Identifier: Apache-2.0
//
// Matrices of a warp (ldmatrix, stmatrix, mma) as programs use them: tiles in
// shared memory, warps whose lanes have parted before, and rows that are bad.
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/software/runtime/kernel_program.h"

namespace holdfast::software {
namespace {

constexpr char kMatrices[] = R"(
__device__ unsigned At(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void Load4(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(At(row)) : "memory");
}
__device__ void Load2Transposed(unsigned (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(At(row)) : "memory");
}
__device__ void MultiplyAdd(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
)";

// The upper half of a float.
uint16_t ToBFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

// 32 by 24 by 64, four rows and columns of tiles; b lies row by row, and is
// transposed as it is loaded.
constexpr char kProduct[] = R"(
extern "C" __global__ void k(const unsigned short* a, const unsigned short* b, float* d,
                             int parted) {
  constexpr int N = 24, K = 64;
  __shared__ alignas(16) unsigned short as[32][K], bs[K][N];
  for (int i = threadIdx.x; i < 32 * K; i += blockDim.x) as[i / K][i % K] = a[i];
  for (int i = threadIdx.x; i < K * N; i += blockDim.x) bs[i / N][i % N] = b[i];
  __syncthreads();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp / 3 * 16, column = warp % 3 * 8;
  if (parted) for (int i = 0; i < lane % 5; ++i) asm volatile("nanosleep.u32 1;");
  float sums[4] = {0, 0, 0, 0};
  for (int step = 0; step < K; step += 16) {
    unsigned x[4], y[2];
    Load4(x, &as[row + lane % 16][step + lane / 16 * 8]);
    Load2Transposed(y, &bs[step + lane % 16][column]);
    MultiplyAdd(sums, x, y);
  }
  for (int i = 0; i < 4; ++i) {
    d[(row + lane / 4 + i / 2 * 8) * N + column + lane % 4 * 2 + i % 2] = sums[i];
  }
})";

TEST(MatrixTest, TilesOfSharedMemoryAreMultiplied) {
  constexpr int kRows = 32, kColumns = 24, kDepth = 64;
  KernelProgram program(std::string(kMatrices) + kProduct);
  alignas(16) uint16_t a[kRows * kDepth], b[kDepth * kColumns];
  const auto number = [](int i) {
    return static_cast<float>(
        static_cast<int>(Bits(static_cast<uint32_t>(i)) % 33) - 16);
  };
  for (int i = 0; i < kRows * kDepth; ++i) a[i] = ToBFloat(number(i));
  for (int i = 0; i < kDepth * kColumns; ++i) b[i] = ToBFloat(number(i + 7777));
  for (const int parted : {0, 1}) {
    float d[kRows * kColumns] = {};
    ExpectSuccess(program.Run(Geometry(1, 192), +a, +b, +d, parted));
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < kColumns; ++column) {
        float sum = 0;
        for (int k = 0; k < kDepth; ++k) {
          sum +=
              number(row * kDepth + k) * number(k * kColumns + column + 7777);
        }
        ASSERT_EQ(d[row * kColumns + column], sum)
            << row << ", " << column << ", " << parted;
      }
    }
  }
}

constexpr char kRow[] = R"(
extern "C" __global__ void k(unsigned* out, unsigned lane, unsigned wrong) {
  __shared__ alignas(16) unsigned short rows[32][8];
  for (int i = 0; i < 8; ++i) rows[threadIdx.x][i] = threadIdx.x * 8 + i;
  __syncthreads();
  unsigned r[4];
  const char* row = (const char*)rows[threadIdx.x];
  Load4(r, threadIdx.x == lane ? row + wrong : row);
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = r[i];
})";

TEST(MatrixTest, EveryLaneNamesARow) {
  KernelProgram program(std::string(kMatrices) + kRow);
  uint32_t out[128] = {};
  ExpectSuccess(program.Run(Geometry(1, 32), +out, 0U, 16U));
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t row = 8 * i + lane / 4;
      const uint32_t first = (row == 0 ? 1 : row) * 8 + lane % 4 * 2;
      EXPECT_EQ(out[lane * 4 + i], first | (first + 1) << 16) << lane << i;
    }
  }
}

// Whoever reads it: the row of lane 21 is read by lanes 20 to 23.
TEST(MatrixTest, ARowMustBeAlignedAndInSharedMemory) {
  uint32_t out[128] = {};
  KernelProgram odd(std::string(kMatrices) + kRow);
  EXPECT_EQ(odd.Run(Geometry(1, 32), +out, 21U, 8U).result,
            CUDA_ERROR_MISALIGNED_ADDRESS);
  KernelProgram far(std::string(kMatrices) + kRow);
  EXPECT_EQ(far.Run(Geometry(1, 32), +out, 21U, 0x40000000U).result,
            CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(MatrixTest, SumsOfIntegersWrapOrSaturate) {
  const auto sum_of = [](const std::string& saturates) {
    KernelProgram program(R"(
extern "C" __global__ void k(int* out) {
  int d[4];
  const int a = 0x7F7F7F7F, c = 0x7FFFFFFF;
  asm volatile("mma.sync.aligned.m16n8k32.row.col)" +
                          saturates + R"(.s32.s8.s8.s32 {%0, %1, %2, %3}, "
               "{%4, %4, %4, %4}, {%4, %4}, {%5, %5, %5, %5};"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a), "r"(c));
  out[threadIdx.x] = d[3];
})");
    int32_t out[32] = {};
    ExpectSuccess(program.Run(Geometry(1, 32), +out));
    return out[31];
  };
  EXPECT_EQ(sum_of(""), INT32_MIN + 127 * 127 * 32 - 1);
  EXPECT_EQ(sum_of(".satfinite"), INT32_MAX);
}

}  // namespace
}  // namespace holdfast::software
