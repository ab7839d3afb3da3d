// SPDX-License-Identifier: Apache-2.0
// A kernel whose assertion fails. From then on, every call that works in the
// context returns the error.
#undef NDEBUG
#include <cassert>

#include "check.h"

__global__ void Assert(int limit) { assert(threadIdx.x < limit); }

int main() {
  void* memory = nullptr;
  CHECK_CUDA(cudaMalloc(&memory, 16));
  Assert<<<1, 64>>>(64);
  CHECK_CUDA(cudaDeviceSynchronize());
  std::printf("64 threads pass\n");
  Assert<<<2, 64>>>(60);
  const cudaError_t error = cudaDeviceSynchronize();
  CHECK(error == cudaErrorAssert);
  std::printf("then: %s, %s\n", cudaGetErrorName(error),
              cudaGetErrorString(error));
  CHECK(cudaGetLastError() == cudaErrorAssert);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaMemset(memory, 0, 16) == cudaErrorAssert);
  CHECK(cudaStreamSynchronize(nullptr) == cudaErrorAssert);
  CHECK(cudaFree(nullptr) == cudaErrorAssert);
  std::printf("and it sticks\n");
  return 0;
}
