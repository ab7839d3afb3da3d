// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

// Sums of tiles of 8 threads, and of the coalesced group of odd ones.
extern "C" __global__ void tiles(const int* in, int* out, int* odd) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  int sum = in[block.thread_rank()];
  for (int offset = 4; offset > 0; offset /= 2) sum += tile.shfl_xor(sum, offset);
  out[block.thread_rank()] = sum * 10 + tile.thread_rank();
  if (in[block.thread_rank()] % 2 != 0) {
    cg::coalesced_group group = cg::coalesced_threads();
    odd[block.thread_rank()] = group.size() * 100 + group.thread_rank();
  }
}

// A barrier object in shared memory between phases.
extern "C" __global__ void barrier_object(const int* in, int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int values[128];
  const int t = threadIdx.x;
  if (t == 0) init(&barrier, 128);
  __syncthreads();
  values[t] = in[t];
  int result = 0;
  for (int round = 0; round < 4; ++round) {
    barrier.arrive_and_wait();
    const int next = values[(t + 1) % 128];
    barrier.arrive_and_wait();
    values[t] = next * 2 + round;
    result += next;
  }
  out[t] = result;
}

// Copies into shared memory two stages ahead of their use.
extern "C" __global__ void pipeline(const int* in, int* out, int rounds) {
  __shared__ int stages[2][64];
  const int t = threadIdx.x;
  auto pipe = cuda::make_pipeline();
  int sum = 0;
  for (int r = 0; r < rounds + 1; ++r) {
    if (r < rounds) {
      pipe.producer_acquire();
      cuda::memcpy_async(&stages[r % 2][t], &in[r * 64 + t], sizeof(int), pipe);
      pipe.producer_commit();
    }
    if (r > 0) {
      if (r < rounds) {
        cuda::pipeline_consumer_wait_prior<1>(pipe);
      } else {
        cuda::pipeline_consumer_wait_prior<0>(pipe);
      }
      __syncthreads();
      sum = sum * 3 + stages[(r - 1) % 2][(t + 1) % 64];
      __syncthreads();
      pipe.consumer_release();
    }
  }
  out[t] = sum;
}
