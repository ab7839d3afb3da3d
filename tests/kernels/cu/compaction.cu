// SPDX-License-Identifier: Apache-2.0
// Keeps the positive values of each block in order, blocks one after another:
// the offsets come from a scan over counts.
extern "C" __global__ void count_positive(const int* in, int* counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int count = __syncthreads_count(i < n && in[i] > 0);
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

extern "C" __global__ void keep_positive(const int* in, const int* offsets,
                                         int* out, int n) {
  __shared__ int warps[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  const bool keep = i < n && in[i] > 0;
  const unsigned kept = __ballot_sync(0xffffffffu, keep);
  if (lane == 0) warps[warp] = __popc(kept);
  __syncthreads();
  int before = offsets[blockIdx.x];
  for (int w = 0; w < warp; ++w) before += warps[w];
  if (keep) out[before + __popc(kept & ((1u << lane) - 1))] = in[i];
}

// In any order, one atomic a warp.
extern "C" __global__ void keep_any_order(const int* in, int* out, int* count,
                                          int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || in[i] <= 0) return;
  const unsigned active = __activemask();
  const int lane = threadIdx.x & 31;
  const int leader = __ffs(active) - 1;
  int base = 0;
  if (lane == leader) base = atomicAdd(count, __popc(active));
  base = __shfl_sync(active, base, leader);
  out[base + __popc(active & ((1u << lane) - 1))] = in[i];
}
