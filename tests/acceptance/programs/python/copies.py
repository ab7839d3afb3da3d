# SPDX-License-Identifier: Apache-2.0
"""Copies behind a block: memcpy_async with barriers and pipelines, bulk copies with cuda::ptx, in two buffers."""

import numpy as np

from checks import build, device, down, equal, finish, holds, run, up, works, zeros

ELEMENTS = 4096
x = np.arange(ELEMENTS, dtype=np.int32)


def compiled(title, source):
    return works(title, lambda: build(source))


with_barrier = compiled(
    "cuda/barrier",
    """#include <cuda/barrier>
    #include <cooperative_groups.h>
    #include <cuda/std/utility>
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    extern "C" __global__ void scale(const int* x, int* out, int tiles) {
      __shared__ alignas(128) int tile[512];
      #pragma nv_diag_suppress static_var_with_dynamic_init
      __shared__ barrier bar;
      auto block = cooperative_groups::this_thread_block();
      if (block.thread_rank() == 0) init(&bar, block.size());
      block.sync();
      for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        cuda::memcpy_async(block, tile, x + t * 512, cuda::aligned_size_t<16>(sizeof tile), bar);
        bar.arrive_and_wait();
        for (int i = threadIdx.x; i < 512; i += blockDim.x) out[t * 512 + i] = 3 * tile[511 - i];
        bar.arrive_and_wait();
      }
    }""",
)
reversed_tiles = 3 * x.reshape(-1, 512)[:, ::-1].ravel()
if with_barrier:
    out = zeros(ELEMENTS)
    run(with_barrier.get_kernel("scale"), 3, 96, up(x), out, np.int32(ELEMENTS // 512))
    equal("memcpy_async and a barrier", down(out), reversed_tiles)

with_pipeline = compiled(
    "cuda/pipeline",
    """#include <cuda/pipeline>
    #include <cooperative_groups.h>
    extern "C" __global__ void sums(const int* x, int* out, int tiles) {
      constexpr int kTile = 512, kStages = 2;
      __shared__ alignas(128) int buffers[kStages][kTile];
      #pragma nv_diag_suppress static_var_with_dynamic_init
      __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
      auto block = cooperative_groups::this_thread_block();
      auto pipeline = cuda::make_pipeline(block, &state);
      int fetched = 0, sum = 0;
      for (int t = 0; t < tiles; ++t) {
        for (; fetched < tiles && fetched < t + kStages; ++fetched) {
          pipeline.producer_acquire();
          cuda::memcpy_async(block, buffers[fetched % kStages], x + fetched * kTile,
                             cuda::aligned_size_t<16>(sizeof buffers[0]), pipeline);
          pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        for (int i = threadIdx.x; i < kTile; i += blockDim.x) sum += buffers[t % kStages][(i + 7) % kTile] * (t + 1);
        pipeline.consumer_release();
      }
      atomicAdd(out, sum);
    }""",
)
weighted = (x.reshape(-1, 512).sum(axis=1) * np.arange(1, ELEMENTS // 512 + 1)).sum()
if with_pipeline:
    out = zeros(1)
    run(with_pipeline.get_kernel("sums"), 1, 96, up(x), out, np.int32(ELEMENTS // 512))
    equal("memcpy_async and a pipeline of two stages", down(out), [np.int64(weighted).astype(np.int32)])

with_groups = compiled(
    "cooperative_groups/memcpy_async.h",
    """#include <cooperative_groups.h>
    #include <cooperative_groups/memcpy_async.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void turn(const int4* x, int4* out, int n) {
      __shared__ int4 tile[128];
      auto block = cg::this_thread_block();
      cg::memcpy_async(block, tile, n, x + blockIdx.x * 128, n);
      cg::wait(block);
      const int4 v = tile[127 - threadIdx.x];
      out[blockIdx.x * 128 + threadIdx.x] = make_int4(v.w, v.z, v.y, v.x);
    }""",
)
if with_groups:
    out = zeros(ELEMENTS)
    run(with_groups.get_kernel("turn"), ELEMENTS // 512, 128, up(x), out, np.int32(128))
    equal("memcpy_async of a group", 3 * down(out), reversed_tiles)

HAS_BULK = device.compute_capability >= (9, 0)
with_ptx = HAS_BULK and compiled(
    "cuda/ptx",
    """#include <cuda/barrier>
    #include <cuda/ptx>
    #include <cuda/std/cstdint>
    namespace ptx = cuda::ptx;
    // One thread fills a buffer while all work on the other, and sends the results back.
    extern "C" __global__ void add_one(int* data, int tiles) {
      constexpr int kTile = 256, kBytes = kTile * sizeof(int);
      __shared__ alignas(128) int buffers[2][kTile];
      __shared__ uint64_t full[2];
      if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full[0], 1);
        ptx::mbarrier_init(&full[1], 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
      }
      __syncthreads();
      const auto fetch = [&](int t) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, buffers[t % 2], data + t * kTile, kBytes,
                           &full[t % 2]);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[t % 2], kBytes);
      };
      if (threadIdx.x == 0) fetch(0);
      for (int t = 0; t < tiles; ++t) {
        if (threadIdx.x == 0 && t + 1 < tiles) {
          ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());  // of the buffer that comes next
          fetch(t + 1);
        }
        while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cta, &full[t % 2], t / 2 % 2)) {}
        for (int i = threadIdx.x; i < kTile; i += blockDim.x) buffers[t % 2][i] += t + 1;
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
          ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, data + t * kTile, buffers[t % 2], kBytes);
          ptx::cp_async_bulk_commit_group();
        }
      }
      if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
    extern "C" __global__ void histogram(const int* x, int* counts, float* sums) {
      __shared__ alignas(16) int mine[64];
      __shared__ alignas(16) float halves[64];
      if (threadIdx.x < 64) {
        mine[threadIdx.x] = 0;
        halves[threadIdx.x] = 0.5f;
      }
      __syncthreads();
      atomicAdd(&mine[x[blockIdx.x * blockDim.x + threadIdx.x] % 64], 1);
      ptx::fence_proxy_async(ptx::space_shared);
      __syncthreads();
      if (threadIdx.x != 0) return;
      ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, counts, mine, sizeof mine);
      ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, halves, sizeof halves);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }""",
)
if with_ptx:
    there = up(x)
    run(with_ptx.get_kernel("add_one"), 1, 96, there, np.int32(ELEMENTS // 256))
    equal("bulk copies in two buffers", down(there), x + 1 + x // 256)
    counts, sums = zeros(64), zeros(64, np.float32)
    values = np.random.default_rng(5).integers(0, 1000, ELEMENTS).astype(np.int32)
    run(with_ptx.get_kernel("histogram"), ELEMENTS // 256, 256, up(values), counts, sums)
    equal("a histogram by bulk reductions", down(counts), np.bincount(values % 64, minlength=64))
    equal("sums of floats by bulk reductions", down(sums, np.float32), np.full(64, ELEMENTS // 256 / 2))
elif not HAS_BULK:
    holds("bulk copies need compute capability 9.0", device.compute_capability < (9, 0))
finish()
