# SPDX-License-Identifier: Apache-2.0
"""Kernels with the toolkit's headers: half, bfloat16, cooperative groups, CUB, cuda::std, cuda::atomic."""

import numpy as np

from checks import build, device, down, equal, finish, run, stream, up, works, zeros

half = works(
    "cuda_fp16.h",
    lambda: build(
        """#include <cuda_fp16.h>
        extern "C" __global__ void axpy(__half a, const __half2* x, __half2* y) {
          y[threadIdx.x] = __hfma2(__half2half2(a), x[threadIdx.x], y[threadIdx.x]);
        }"""
    ),
)
if half:
    x, y = np.arange(64, dtype=np.float16), np.ones(64, np.float16)
    there = up(y)
    run(half.get_kernel("axpy"), 1, 32, np.float16(0.5), up(x), there)
    equal("half precision", down(there, np.float16), x * np.float16(0.5) + y)

bfloat = works(
    "cuda_bf16.h",
    lambda: build(
        """#include <cuda_bf16.h>
        extern "C" __global__ void twice(const float* x, float* y) {
          y[threadIdx.x] = __bfloat162float(__float2bfloat16(x[threadIdx.x]) * __float2bfloat16(2.f));
        }"""
    ),
)
if bfloat:
    y = zeros(32, np.float32)
    run(bfloat.get_kernel("twice"), 1, 32, up(np.arange(32, dtype=np.float32)), y)
    equal("bfloat16", down(y, np.float32), np.arange(32) * 2)

groups = works(
    "cooperative_groups.h",
    lambda: build(
        """#include <cooperative_groups.h>
        #include <cooperative_groups/reduce.h>
        namespace cg = cooperative_groups;
        extern "C" __global__ void sum(const int* x, int* partial, int* total, int n) {
          auto grid = cg::this_grid();
          auto tile = cg::tiled_partition<32>(cg::this_thread_block());
          int mine = 0;
          for (int i = grid.thread_rank(); i < n; i += grid.size()) mine += x[i];
          mine = cg::reduce(tile, mine, cg::plus<int>());
          if (tile.thread_rank() == 0) partial[grid.thread_rank() / 32] = mine;
          grid.sync();
          if (grid.thread_rank() == 0) {
            int all = 0;
            for (unsigned i = 0; i < grid.size() / 32; ++i) all += partial[i];
            *total = all;
          }
        }"""
    ),
)
if groups:
    x, total = np.arange(1000, dtype=np.int32), zeros(1)
    run(groups.get_kernel("sum"), 2, 64, up(x), zeros(4), total, np.int32(1000), **{"is_cooperative": True})
    equal("a sum over a grid that waits for itself", down(total), [x.sum()])

tiles = works(
    "tiles larger than a warp",
    lambda: build(
        """#include <cooperative_groups.h>
        #include <cooperative_groups/reduce.h>
        namespace cg = cooperative_groups;
        extern "C" __global__ void sum(const int* x, int* out) {
          __shared__ cg::block_tile_memory<256> memory;
          extern __shared__ int mine[];
          mine[threadIdx.x] = x[threadIdx.x];
          const auto tile = cg::tiled_partition<128>(cg::this_thread_block(memory));
          out[threadIdx.x] = cg::reduce(tile, mine[threadIdx.x], cg::plus<int>());
        }"""
    ),
)
if tiles:
    x, out = np.arange(256, dtype=np.int32), zeros(256)
    run(tiles.get_kernel("sum"), 1, 256, up(x), out, shmem_size=1024)
    equal("sums of four warps each", down(out), np.repeat(x.reshape(2, 128).sum(axis=1), 128))

cub = works(
    "cub/block",
    lambda: build(
        """#include <cub/block/block_radix_sort.cuh>
        #include <cub/block/block_reduce.cuh>
        extern "C" __global__ void sorted(int* x, int* greatest) {
          using Sort = cub::BlockRadixSort<int, 64, 2>;
          using Reduce = cub::BlockReduce<int, 64>;
          __shared__ union { typename Sort::TempStorage sort; typename Reduce::TempStorage reduce; } room;
          int two[2] = {x[threadIdx.x * 2], x[threadIdx.x * 2 + 1]};
          Sort(room.sort).Sort(two);
          __syncthreads();
          struct Larger { __device__ int operator()(int a, int b) const { return a > b ? a : b; } };
          int top = Reduce(room.reduce).Reduce(two[1], Larger());
          x[threadIdx.x * 2] = two[0];
          x[threadIdx.x * 2 + 1] = two[1];
          if (threadIdx.x == 0) *greatest = top;
        }"""
    ),
)
if cub:
    x = np.random.default_rng(3).integers(-1000, 1000, 128).astype(np.int32)
    there, top = up(x), zeros(1)
    run(cub.get_kernel("sorted"), 1, 64, there, top)
    equal("a sort of a block", down(there), np.sort(x))
    equal("the greatest", down(top), [x.max()])

std = works(
    "cuda/std and cuda/atomic",
    lambda: build(
        """#include <cuda/atomic>
        #include <cuda/std/array>
        #include <cuda/std/complex>
        #include <cuda/std/limits>
        #include <cuda/std/tuple>
        extern "C" __global__ void standard(float* out, unsigned* count) {
          cuda::std::complex<float> z(threadIdx.x, 1);
          cuda::std::array<float, 2> parts{(z * z).real(), (z * z).imag()};
          auto [a, b] = cuda::std::make_tuple(parts[0], parts[1]);
          out[threadIdx.x] = a + b;
          cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*count).fetch_max(threadIdx.x, cuda::memory_order_relaxed);
          if (cuda::std::numeric_limits<int>::max() != 2147483647) out[0] = -1;
        }"""
    ),
)
if std:
    out, count = zeros(32, np.float32), zeros(1, np.uint32)
    run(std.get_kernel("standard"), 1, 32, out, count)
    i = np.arange(32)
    equal("complex numbers, arrays, tuples", down(out, np.float32), i * i - 1 + 2 * i)
    equal("the greatest by an atomic", down(count, np.uint32), [31])
finish()
