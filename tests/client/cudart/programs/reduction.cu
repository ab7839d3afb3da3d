// SPDX-License-Identifier: Apache-2.0
// Sums and finds the largest of many numbers, by shuffles in warps, shared
// memory in blocks and atomic operations between blocks. The kernel is a
// template, with dynamic shared memory.
#include <algorithm>
#include <vector>

#include "check.h"

struct Sum {
  __device__ static int Combine(int a, int b) { return a + b; }
  __device__ static void Store(int* to, int value) { atomicAdd(to, value); }
};

struct Largest {
  __device__ static int Combine(int a, int b) { return max(a, b); }
  __device__ static void Store(int* to, int value) { atomicMax(to, value); }
};

template <typename Operation>
__device__ int ReduceWarp(int value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = Operation::Combine(value, __shfl_down_sync(~0u, value, offset));
  }
  return value;
}

template <typename Operation>
__global__ void Reduce(const int* values, int count, int* result) {
  extern __shared__ int warps[];
  int value = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += gridDim.x * blockDim.x) {
    value = Operation::Combine(value, values[i]);
  }
  value = ReduceWarp<Operation>(value);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  value = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
  value = ReduceWarp<Operation>(value);
  if (threadIdx.x == 0) Operation::Store(result, value);
}

template <typename Operation>
int Run(const int* values, int count, int threads) {
  int* device_result = nullptr;
  CHECK_CUDA(cudaMalloc(&device_result, sizeof(int)));
  CHECK_CUDA(cudaMemset(device_result, 0, sizeof(int)));
  Reduce<Operation><<<16, threads, threads / 32 * sizeof(int)>>>(values, count,
                                                                 device_result);
  CHECK_CUDA(cudaGetLastError());
  int result = 0;
  CHECK_CUDA(
      cudaMemcpy(&result, device_result, sizeof(int), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(device_result));
  return result;
}

int main() {
  constexpr int kCount = 100003;
  std::vector<int> values(kCount);
  int sum = 0;
  int largest = 0;
  for (int i = 0; i < kCount; ++i) {
    values[i] = (i * 37) % 1009;
    sum += values[i];
    largest = std::max(largest, values[i]);
  }
  int* device = nullptr;
  CHECK_CUDA(cudaMalloc(&device, kCount * sizeof(int)));
  CHECK_CUDA(cudaMemcpy(device, values.data(), kCount * sizeof(int),
                        cudaMemcpyHostToDevice));
  for (const int threads : {32, 128, 512}) {
    CHECK(Run<Sum>(device, kCount, threads) == sum);
    CHECK(Run<Largest>(device, kCount, threads) == largest);
    std::printf("%d threads a block: sum %d, largest %d\n", threads, sum,
                largest);
  }
  CHECK_CUDA(cudaFree(device));
  return 0;
}
