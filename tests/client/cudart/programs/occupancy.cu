// SPDX-License-Identifier: Apache-2.0
// How much of a device a kernel can fill, and launches that are too large.
#include "check.h"

__global__ void Square(int* values, int count) {
  extern __shared__ int scratch[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  scratch[threadIdx.x] = i;
  if (i < count) values[i] = scratch[threadIdx.x] * scratch[threadIdx.x];
}

// The bytes that a block of so many threads needs.
__host__ __device__ size_t SharedMemoryOf(int threads) {
  return threads * sizeof(int);
}

int main() {
  cudaDeviceProp properties;
  CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
  CHECK(properties.warpSize == 32 && properties.major >= 5);
  CHECK(properties.totalGlobalMem > 0 && properties.multiProcessorCount > 0);
  CHECK(properties.maxThreadsPerBlock >= 1024);
  int value = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
  CHECK(value == properties.maxThreadsPerBlock);
  CHECK_CUDA(cudaDeviceGetAttribute(
      &value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  CHECK(static_cast<size_t>(value) == properties.sharedMemPerBlockOptin);

  cudaFuncAttributes attributes;
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, Square));
  CHECK(attributes.maxThreadsPerBlock > 0 && attributes.ptxVersion >= 80);
  CHECK(attributes.sharedSizeBytes == 0);
  CHECK_CUDA(cudaFuncSetAttribute(
      Square, cudaFuncAttributeMaxDynamicSharedMemorySize, 16384));
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, Square));
  CHECK(attributes.maxDynamicSharedSizeBytes == 16384);
  CHECK_CUDA(cudaFuncSetCacheConfig(Square, cudaFuncCachePreferShared));

  int few = 0, many = 0;
  CHECK_CUDA(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&few, Square, 1024, 4096));
  CHECK_CUDA(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&many, Square, 128, 512));
  CHECK(few >= 1 && many >= few);
  CHECK(many * 128 <= properties.maxThreadsPerMultiProcessor);
  int grid = 0, block = 0;
  CHECK_CUDA(cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      &grid, &block, Square, SharedMemoryOf));
  CHECK(grid >= 1 && block >= 32 && block % 32 == 0);

  constexpr int kCount = 5000;
  int* values = nullptr;
  static int host[kCount];
  CHECK_CUDA(cudaMalloc(&values, sizeof(host)));
  Square<<<(kCount + block - 1) / block, block, block * sizeof(int)>>>(values,
                                                                       kCount);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) CHECK(host[i] == i * i);

  // Errors of launches are the thread's last error, and do not stick.
  Square<<<1, properties.maxThreadsPerBlock + 1>>>(values, kCount);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);
  Square<<<0, 32>>>(values, kCount);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  Square<<<1, 32, 1 << 30>>>(values, kCount);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  Square<<<1, 32, 128>>>(values, kCount);
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaFree(values));
  std::printf("occupancy: right\n");
  return 0;
}
