// SPDX-License-Identifier: Apache-2.0
// Inclusive scan of 256 values a block (Hillis and Steele).
extern "C" __global__ void scan_block(const int* in, int* out, int* totals) {
  __shared__ int buffer[2][256];
  const int t = threadIdx.x;
  int which = 0;
  buffer[0][t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int offset = 1; offset < 256; offset *= 2) {
    int value = buffer[which][t];
    if (t >= offset) value += buffer[which][t - offset];
    which = 1 - which;
    buffer[which][t] = value;
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = buffer[which][t];
  if (t == 255) totals[blockIdx.x] = buffer[which][t];
}

extern "C" __global__ void scan_add(int* out, const int* offsets) {
  if (blockIdx.x > 0) {
    out[blockIdx.x * 256 + threadIdx.x] += offsets[blockIdx.x - 1];
  }
}

// Inclusive scan within each warp.
extern "C" __global__ void scan_warp(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x & 31;
  int value = in[i];
  for (int offset = 1; offset < 32; offset *= 2) {
    const int below = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane >= offset) value += below;
  }
  out[i] = value;
}

// One pass over everything: a block adds what the blocks before it have
// published, and waits for what they have not. States: 0 nothing yet, 1 the
// block's sum, 2 the sum up to and with the block.
__device__ int ScanBlockShuffle(int value, int* warps) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  for (int offset = 1; offset < 32; offset *= 2) {
    const int below = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane >= offset) value += below;
  }
  if (lane == 31) warps[warp] = value;
  __syncthreads();
  int before = 0;
  for (int w = 0; w < warp; ++w) before += warps[w];
  return value + before;
}

// Publishes the sum of a block; the sum of all blocks before it.
__device__ int LookBack(unsigned block, int sum,
                        volatile unsigned long long* states) {
  const unsigned long long published = block == 0 ? 2 : 1;
  states[block] = published << 32 | (unsigned)sum;
  int prefix = 0;
  for (int b = (int)block - 1; b >= 0;) {
    const unsigned long long state = states[b];
    if (state >> 32 == 0) continue;
    prefix += (int)(unsigned)state;
    if (state >> 32 == 2) break;
    --b;
  }
  if (block > 0) states[block] = 2ull << 32 | (unsigned)(prefix + sum);
  return prefix;
}

extern "C" __global__ void scan_lookback(const int* in, int* out, int n,
                                         unsigned* ticket,
                                         volatile unsigned long long* states) {
  __shared__ int warps[8];
  __shared__ unsigned block;
  __shared__ int before;
  if (threadIdx.x == 0) block = atomicAdd(ticket, 1);
  __syncthreads();
  const int i = block * 256 + threadIdx.x;
  const int sum = ScanBlockShuffle(i < n ? in[i] : 0, warps);
  if (threadIdx.x == 255) before = LookBack(block, sum, states);
  __syncthreads();
  if (i < n) out[i] = sum + before;
}

// The same with four values a thread, as one load: a barrier is for 1024
// values. `fours` counts them.
extern "C" __global__ void scan_lookback_wide(
    const int4* in, int4* out, int fours, unsigned* ticket,
    volatile unsigned long long* states) {
  __shared__ int warps[8];
  __shared__ unsigned block;
  __shared__ int before;
  if (threadIdx.x == 0) block = atomicAdd(ticket, 1);
  __syncthreads();
  const int i = block * 256 + threadIdx.x;
  int4 value = i < fours ? in[i] : make_int4(0, 0, 0, 0);
  value.y += value.x;
  value.z += value.y;
  value.w += value.z;
  const int sum = ScanBlockShuffle(value.w, warps);
  if (threadIdx.x == 255) before = LookBack(block, sum, states);
  __syncthreads();
  const int start = before + sum - value.w;
  if (i < fours) {
    out[i] = make_int4(start + value.x, start + value.y, start + value.z,
                       start + value.w);
  }
}
