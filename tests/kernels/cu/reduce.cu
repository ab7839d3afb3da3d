// SPDX-License-Identifier: Apache-2.0
// One sum a block of 256 threads, by a tree in shared memory.
extern "C" __global__ void reduce_shared(const float* in, float* sums, int n) {
  __shared__ float cache[256];
  const int t = threadIdx.x;
  const int i = blockIdx.x * 256 + t;
  cache[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) cache[t] += cache[t + half];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = cache[0];
}

__device__ float WarpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  return value;
}

// One sum a block, by shuffles, over a grid-stride loop.
extern "C" __global__ void reduce_shuffle(const float* in, float* sums, int n) {
  __shared__ float warps[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    sum += in[i];
  }
  sum = WarpSum(sum);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) warps[warp] = sum;
  __syncthreads();
  if (warp != 0) return;
  sum = lane < blockDim.x / 32 ? warps[lane] : 0.0f;
  sum = WarpSum(sum);
  if (lane == 0) sums[blockIdx.x] = sum;
}

// All integers into one, by an atomic for each block; and the largest.
extern "C" __global__ void reduce_atomic(const int* in, unsigned long long* sum,
                                         int* most, int n) {
  __shared__ unsigned long long block_sum;
  __shared__ int block_most;
  if (threadIdx.x == 0) {
    block_sum = 0;
    block_most = -2147483647 - 1;
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&block_sum, (unsigned long long)(unsigned)in[i]);
    atomicMax(&block_most, in[i]);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(sum, block_sum);
    atomicMax(most, block_most);
  }
}

// The last block to finish adds up all blocks' sums.
__device__ unsigned finished = 0;

extern "C" __global__ void reduce_last_block(const int* in, int* partial,
                                             int* total, int n) {
  __shared__ int cache[128];
  __shared__ bool last;
  const int t = threadIdx.x;
  int sum = 0;
  for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) sum += in[i];
  cache[t] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) cache[t] += cache[t + half];
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = cache[0];
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || t != 0) return;
  int all = 0;
  for (int b = 0; b < gridDim.x; ++b) all += ((volatile int*)partial)[b];
  *total = all;
}
