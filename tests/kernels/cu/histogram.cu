// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void histogram_global(const unsigned char* data,
                                            unsigned* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[data[i]], 1u);
  }
}

extern "C" __global__ void histogram_shared(const unsigned char* data,
                                            unsigned* bins, int n) {
  __shared__ unsigned local[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    atomicAdd(&local[data[i]], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    atomicAdd(&bins[b], local[b]);
  }
}

// Lanes of a warp with the same bin elect one of them to add for all.
extern "C" __global__ void histogram_match(const unsigned char* data,
                                           unsigned* bins, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned active = __ballot_sync(0xffffffffu, i < n);
  if (i >= n) return;
  const unsigned same = __match_any_sync(active, (unsigned)data[i]);
  if (__ffs(same) - 1 == (threadIdx.x & 31)) {
    atomicAdd(&bins[data[i]], __popc(same));
  }
}
