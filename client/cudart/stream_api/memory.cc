// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memory in the order of streams.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

extern "C" {

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
  return CallInContext(&Driver::MemAllocAsync, As<CUdeviceptr>(pointer), size,
                       stream);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size,
                                    cudaMemPool_t pool, cudaStream_t stream) {
  return CallInContext(&Driver::MemAllocFromPoolAsync, As<CUdeviceptr>(pointer),
                       size, pool, stream);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return CallInContext(&Driver::MemFreeAsync, Address(pointer), stream);
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t size,
                                 cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream) {
  return CallInContext(&Driver::MemPrefetchAsync, Address(pointer), size,
                       *As<CUmemLocation>(&location), flags, stream);
}

cudaError_t cudaMemPrefetchBatchAsync(void** pointers, size_t* sizes,
                                      size_t count, cudaMemLocation* locations,
                                      size_t* indices, size_t location_count,
                                      unsigned long long flags,
                                      cudaStream_t stream) {
  return CallInContext(
      &Driver::MemPrefetchBatchAsync, As<CUdeviceptr>(pointers), sizes, count,
      As<CUmemLocation>(locations), indices, location_count, flags, stream);
}

cudaError_t cudaMemDiscardBatchAsync(void** pointers, size_t* sizes,
                                     size_t count, unsigned long long flags,
                                     cudaStream_t stream) {
  return CallInContext(&Driver::MemDiscardBatchAsync, As<CUdeviceptr>(pointers),
                       sizes, count, flags, stream);
}

cudaError_t cudaMemDiscardAndPrefetchBatchAsync(
    void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations,
    size_t* indices, size_t location_count, unsigned long long flags,
    cudaStream_t stream) {
  return CallInContext(&Driver::MemDiscardAndPrefetchBatchAsync,
                       As<CUdeviceptr>(pointers), sizes, count,
                       As<CUmemLocation>(locations), indices, location_count,
                       flags, stream);
}

}  // extern "C"
