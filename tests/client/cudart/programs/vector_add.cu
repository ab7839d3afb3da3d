// SPDX-License-Identifier: Apache-2.0
// Adds two vectors, with a length that is no multiple of a block's.
#include <vector>

#include "check.h"

__global__ void Add(const float* a, const float* b, float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

int main() {
  constexpr int kCount = 50000;
  constexpr size_t kSize = kCount * sizeof(float);
  std::vector<float> a(kCount), b(kCount), sum(kCount);
  for (int i = 0; i < kCount; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(2 * i);
  }
  float *device_a = nullptr, *device_b = nullptr, *device_sum = nullptr;
  CHECK_CUDA(cudaMalloc(&device_a, kSize));
  CHECK_CUDA(cudaMalloc(&device_b, kSize));
  CHECK_CUDA(cudaMalloc(&device_sum, kSize));
  CHECK_CUDA(cudaMemcpy(device_a, a.data(), kSize, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy(device_b, b.data(), kSize, cudaMemcpyHostToDevice));
  const int blocks = (kCount + 255) / 256;
  Add<<<blocks, 256>>>(device_a, device_b, device_sum, kCount);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaMemcpy(sum.data(), device_sum, kSize, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) CHECK(sum[i] == 3.0f * i);
  CHECK_CUDA(cudaFree(device_a));
  CHECK_CUDA(cudaFree(device_b));
  CHECK_CUDA(cudaFree(device_sum));
  std::printf("%d sums by %d blocks: right\n", kCount, blocks);
  return 0;
}
