// SPDX-License-Identifier: Apache-2.0
// Text of kernels. Each launch prints by one thread, so that the order is the
// stream's.
#include "check.h"

__global__ void Print(int launch, const char* word, double number) {
  if (threadIdx.x != 7) return;
  printf("launch %d: block %d of %d, thread %d\n", launch, blockIdx.x,
         gridDim.x, threadIdx.x);
  printf("  %s, %5.2f, %x, %llu, %c, 100%%\n", word, number, 48879, 1ull << 40,
         'z');
}

int main() {
  size_t size = 0;
  CHECK_CUDA(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20));
  CHECK_CUDA(cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize));
  CHECK(size >= 1 << 20);
  char* word = nullptr;
  CHECK_CUDA(cudaMalloc(&word, 8));
  CHECK_CUDA(cudaMemcpy(word, "word", 5, cudaMemcpyHostToDevice));
  for (int launch = 0; launch < 3; ++launch) {
    Print<<<1, 32>>>(launch, word, launch + 0.25);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  CHECK_CUDA(cudaFree(word));
  std::fflush(stdout);
  return 0;
}
