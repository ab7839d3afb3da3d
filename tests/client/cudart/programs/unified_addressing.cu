// SPDX-License-Identifier: Apache-2.0
// One address for memory of the host and of the device: copies whose direction
// the driver finds, and kernels that use both.
#include <vector>

#include "check.h"

__global__ void Add(const int* a, const int* b, int* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

cudaMemoryType TypeOf(const void* pointer) {
  cudaPointerAttributes attributes;
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, pointer));
  return attributes.type;
}

int main() {
  constexpr int kCount = 1024;
  constexpr size_t kSize = kCount * sizeof(int);
  int unified = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&unified, cudaDevAttrUnifiedAddressing, 0));
  CHECK(unified == 1);

  int *pinned = nullptr, *device = nullptr, *managed = nullptr;
  CHECK_CUDA(cudaHostAlloc(&pinned, kSize,
                           cudaHostAllocMapped | cudaHostAllocPortable));
  CHECK_CUDA(cudaMalloc(&device, kSize));
  CHECK_CUDA(cudaMallocManaged(&managed, kSize));
  std::vector<int> pageable(kCount), result(kCount);
  CHECK(TypeOf(pinned) == cudaMemoryTypeHost);
  CHECK(TypeOf(device) == cudaMemoryTypeDevice);
  CHECK(TypeOf(device + kCount / 2) == cudaMemoryTypeDevice);
  CHECK(TypeOf(managed) == cudaMemoryTypeManaged);
  CHECK(TypeOf(pageable.data()) == cudaMemoryTypeUnregistered);
  cudaPointerAttributes attributes;
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, device));
  CHECK(attributes.device == 0 && attributes.devicePointer == device);
  void* address = nullptr;
  CHECK_CUDA(cudaHostGetDevicePointer(&address, pinned, 0));
  unsigned flags = 0;
  CHECK_CUDA(cudaHostGetFlags(&flags, pinned));
  CHECK((flags & cudaHostAllocMapped) != 0);

  for (int i = 0; i < kCount; ++i) {
    pinned[i] = i;
    managed[i] = 2 * i;
    pageable[i] = 3 * i;
  }
  CHECK_CUDA(cudaMemcpy(device, pageable.data(), kSize, cudaMemcpyDefault));
  Add<<<8, 128>>>(static_cast<int*>(address), managed, managed, kCount);
  Add<<<8, 128>>>(managed, device, device, kCount);
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK(managed[100] == 300);
  CHECK_CUDA(cudaMemcpy(result.data(), device, kSize, cudaMemcpyDefault));
  for (int i = 0; i < kCount; ++i) CHECK(result[i] == 6 * i);
  CHECK_CUDA(cudaMemcpy(pinned, result.data(), kSize, cudaMemcpyHostToHost));
  CHECK(pinned[kCount - 1] == 6 * (kCount - 1));

  // Memory in the order of a stream.
  cudaStream_t stream;
  int* ordered = nullptr;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaMallocAsync(&ordered, kSize, stream));
  CHECK_CUDA(cudaMemsetAsync(ordered, 0, kSize, stream));
  Add<<<8, 128, 0, stream>>>(device, ordered, ordered, kCount);
  CHECK_CUDA(
      cudaMemcpyAsync(pinned, ordered, kSize, cudaMemcpyDefault, stream));
  CHECK_CUDA(cudaFreeAsync(ordered, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK(pinned[7] == 42);
  CHECK_CUDA(cudaStreamDestroy(stream));

  size_t free = 0, total = 0;
  CHECK_CUDA(cudaMemGetInfo(&free, &total));
  CHECK(free > 0 && free <= total);
  CHECK(cudaMemcpy(device, pinned, kSize, static_cast<cudaMemcpyKind>(9)) ==
        cudaErrorInvalidMemcpyDirection);
  CHECK(cudaFree(pageable.data()) == cudaErrorInvalidValue);
  CHECK_CUDA(cudaFree(nullptr));
  CHECK_CUDA(cudaFreeHost(pinned));
  CHECK_CUDA(cudaFree(device));
  CHECK_CUDA(cudaFree(managed));
  std::printf("unified addressing: right\n");
  return 0;
}
