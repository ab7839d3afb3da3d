# SPDX-License-Identifier: Apache-2.0
"""Kernels that many programs copy: sums over a block without a barrier between two, and tiles of nvcuda::wmma."""

import numpy as np

from checks import build, down, equal, finish, run, up, zeros

# All warps read the result of one sum, and the next sum overwrites it without a barrier in between. By CUDA's rules
# this is a race; on GPUs the result is right.
SUMS = r"""
__device__ float sum(float value) {
  __shared__ float part[32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 16; i > 0; i /= 2) value += __shfl_xor_sync(0xffffffff, value, i);
  if (lane == 0) part[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < blockDim.x / 32 ? part[lane] : 0;
    for (int i = 16; i > 0; i /= 2) value += __shfl_xor_sync(0xffffffff, value, i);
    if (lane == 0) part[0] = value;
  }
  __syncthreads();
  return part[0];
}
extern "C" __global__ void normalize(const float* in, float* out, int columns) {
  const float* row = in + blockIdx.x * columns;
  float total = 0, squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) total += row[i];
  const float mean = sum(total) / columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
  const float scale = rsqrtf(sum(squares) / columns + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[blockIdx.x * columns + i] = (row[i] - mean) * scale;
}
"""
# Each tile of eight splits by value, and then the whole warp splits by another value.
GROUPS = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void groups(int* out) {
  const int t = threadIdx.x;
  const auto block = cg::this_thread_block();
  const auto part = cg::binary_partition(cg::tiled_partition<8>(block), t % 3 == 0);
  out[4 * t] = cg::reduce(part, t, cg::plus<int>());
  const auto same = cg::labeled_partition(cg::tiled_partition<32>(block), t % 5);
  out[4 * t + 1] = cg::reduce(same, t, cg::plus<int>());
  out[4 * t + 2] = same.thread_rank();
  out[4 * t + 3] = __popc(__ballot_sync(0xffffffff, t & 1));
}
"""
TILES = r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void multiply(const half* a, const half* b, float* c, int m, int n, int k) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16, column = blockIdx.y * 16;
  if (row >= m || column >= n) return;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(left, a + row * k + i, k);
    wmma::load_matrix_sync(right, b + column * k + i, k);
    wmma::mma_sync(sums, left, right, sums);
  }
  for (int i = 0; i < sums.num_elements; ++i) sums.x[i] *= 0.5f;
  wmma::store_matrix_sync(c + row * n + column, sums, n, wmma::mem_row_major);
}
"""
random = np.random.default_rng(1)
rows, columns = 50, 768
x = random.standard_normal((rows, columns)).astype(np.float32)
mean = x.mean(axis=1, keepdims=True, dtype=np.float64)
wanted = (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + 1e-5)
kernel = build(SUMS).get_kernel("normalize")
for block in (32, 64, 256, 1024):
    there, out = up(x), zeros(x.size, np.float32)
    run(kernel, rows, block, there, out, np.int32(columns))
    got = down(out, np.float32).reshape(rows, columns)
    equal(f"rows normalized by blocks of {block}", bool(np.allclose(got, wanted, atol=1e-5)), True)

m, n, k = 64, 48, 80
a = random.integers(-8, 8, (m, k)).astype(np.float16)
b = random.integers(-8, 8, (k, n)).astype(np.float16)
c = zeros(m * n, np.float32)
run(build(TILES).get_kernel("multiply"), (m // 64, n // 16), 128, up(a), up(b.T.copy()), c, *map(np.int32, (m, n, k)))
equal("a product of matrices, by tiles", down(c, np.float32).reshape(m, n), 0.5 * (a.astype(float) @ b.astype(float)))
t = np.arange(64)
warp, tile, third, fifth = t // 32, t // 8, t % 3 == 0, t % 5
grouped = zeros(4 * 64, np.int32)
run(build(GROUPS).get_kernel("groups"), 1, 64, grouped)
near = (tile[:, None] == tile) & (third[:, None] == third)
alike = (warp[:, None] == warp) & (fifth[:, None] == fifth)
ranks = (alike & (t < t[:, None])).sum(1)
wanted = np.stack([near @ t, alike @ t, ranks, np.full(64, 16)], 1)
equal("groups of groups, then the warp", down(grouped, np.int32), wanted.ravel())
finish()
