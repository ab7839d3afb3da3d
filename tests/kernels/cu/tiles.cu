// SPDX-License-Identifier: Apache-2.0
#include <mma.h>

using namespace nvcuda;

// d = alpha * a * b + beta * c, for halves and sums in float. a lies by rows, b
// by columns. A block of 2 x 2 warps computes 32 x 32 elements, from tiles in
// shared memory that have a skew of 16 bytes.
extern "C" __global__ void gemm_half(const half* a, const half* b,
                                     const float* c, float* d, int n, int depth,
                                     float alpha, float beta) {
  constexpr int kTile = 32, kLine = kTile + 8;
  __shared__ __align__(32) half as[kTile * kLine];
  __shared__ __align__(32) half bs[kTile * kLine];
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / 2 * 16, warp_column = warp % 2 * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums, old;
  wmma::fill_fragment(sums, 0.0f);
  for (int step = 0; step < depth; step += kTile) {
    for (int i = threadIdx.x; i < kTile * kTile; i += blockDim.x) {
      const int line = i / kTile, place = i % kTile;
      as[line * kLine + place] = a[(row + line) * depth + step + place];
      bs[line * kLine + place] = b[(column + line) * depth + step + place];
    }
    __syncthreads();
    for (int k = 0; k < kTile; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
      wmma::load_matrix_sync(x, as + warp_row * kLine + k, kLine);
      wmma::load_matrix_sync(y, bs + warp_column * kLine + k, kLine);
      wmma::mma_sync(sums, x, y, sums);
    }
    __syncthreads();
  }
  const int place = (row + warp_row) * n + column + warp_column;
  wmma::load_matrix_sync(old, c + place, n, wmma::mem_row_major);
  for (int i = 0; i < sums.num_elements; ++i) {
    sums.x[i] = alpha * sums.x[i] + beta * old.x[i];
  }
  wmma::store_matrix_sync(d + place, sums, n, wmma::mem_row_major);
}

// Bytes, in tiles of M x N: batch blockIdx.z; a by columns, b by rows, the
// result by columns.
template <int M, int N>
__device__ void MultiplyBytes(const signed char* a, const signed char* b,
                              int* d, int m, int n, int depth) {
  a += blockIdx.z * m * depth;
  b += blockIdx.z * n * depth;
  d += blockIdx.z * m * n;
  const int row = blockIdx.y * M, column = blockIdx.x * N;
  wmma::fragment<wmma::matrix_a, M, N, 16, signed char, wmma::col_major> x;
  wmma::fragment<wmma::matrix_b, M, N, 16, signed char, wmma::row_major> y;
  wmma::fragment<wmma::accumulator, M, N, 16, int> sums;
  wmma::fill_fragment(sums, 0);
  for (int k = 0; k < depth; k += 16) {
    wmma::load_matrix_sync(x, a + k * m + row, m);
    wmma::load_matrix_sync(y, b + k * n + column, n);
    wmma::mma_sync(sums, x, y, sums);
  }
  wmma::store_matrix_sync(d + column * m + row, sums, m, wmma::mem_col_major);
}

extern "C" __global__ void gemm_bytes_tall(const signed char* a,
                                           const signed char* b, int* d, int m,
                                           int n, int depth) {
  MultiplyBytes<32, 8>(a, b, d, m, n, depth);
}

extern "C" __global__ void gemm_bytes_wide(const signed char* a,
                                           const signed char* b, int* d, int m,
                                           int n, int depth) {
  MultiplyBytes<8, 32>(a, b, d, m, n, depth);
}

// Each warp scales its own tiles of a by 2 and of b by 3, and multiplies.
template <typename Factor, typename Stored, typename Sum, int M, int N, int K>
__device__ void MultiplyScaled(const Stored* a, const Stored* b, Sum* d) {
  wmma::fragment<wmma::matrix_a, M, N, K, Factor, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, M, N, K, Factor, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> sums;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  wmma::load_matrix_sync(x, a + warp * M * K, K);
  wmma::load_matrix_sync(y, b + warp * N * K, K);
  for (int i = 0; i < x.num_elements; ++i) x.x[i] = x.x[i] + x.x[i];
  for (int i = 0; i < y.num_elements; ++i) y.x[i] = y.x[i] + y.x[i] + y.x[i];
  wmma::fill_fragment(sums, (Sum)1);
  wmma::mma_sync(sums, x, y, sums);
  wmma::store_matrix_sync(d + warp * M * N, sums, N, wmma::mem_row_major);
}

extern "C" __global__ void scaled_double(const double* a, const double* b,
                                         double* d) {
  MultiplyScaled<double, double, double, 8, 8, 4>(a, b, d);
}

extern "C" __global__ void scaled_tf32(const float* a, const float* b,
                                       float* d) {
  MultiplyScaled<wmma::precision::tf32, float, float, 16, 16, 8>(a, b, d);
}

extern "C" __global__ void scaled_bf16(const __nv_bfloat16* a,
                                       const __nv_bfloat16* b, float* d) {
  MultiplyScaled<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16>(a, b, d);
}
