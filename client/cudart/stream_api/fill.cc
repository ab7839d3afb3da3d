// SPDX-License-Identifier: Apache-2.0
//
// Entry points: fills of memory.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

namespace {

// Fills rows of memory, in a stream or, without one, as cudaMemset does.
CUresult FillRows(const Driver& driver, void* memory, size_t pitch, int value,
                  size_t width, size_t height, const cudaStream_t* stream) {
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  const auto byte = static_cast<unsigned char>(value);
  return stream == nullptr
             ? driver.MemsetD2D8(Address(memory), pitch, byte, width, height)
             : driver.MemsetD2D8Async(Address(memory), pitch, byte, width,
                                      height, *stream);
}

// Fills a box. Its slices are `ysize` rows apart.
CUresult FillBox(const Driver& driver, cudaPitchedPtr memory, int value,
                 cudaExtent extent, const cudaStream_t* stream) {
  size_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (extent.height == memory.ysize || extent.depth <= 1) {
    return FillRows(driver, memory.ptr, memory.pitch, value, extent.width, rows,
                    stream);
  }
  for (size_t slice = 0; slice < extent.depth; ++slice) {
    char* const first =
        static_cast<char*>(memory.ptr) + slice * memory.ysize * memory.pitch;
    const CUresult result = FillRows(driver, first, memory.pitch, value,
                                     extent.width, extent.height, stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

cudaError_t cudaMemset(void* memory, int value, size_t size) {
  return WithContext([&](const Driver& driver) {
    return size == 0 ? CUDA_SUCCESS
                     : driver.MemsetD8(Address(memory),
                                       static_cast<unsigned char>(value), size);
  });
}

cudaError_t cudaMemsetAsync(void* memory, int value, size_t size,
                            cudaStream_t stream) {
  return WithContext([&](const Driver& driver) {
    return size == 0 ? CUDA_SUCCESS
                     : driver.MemsetD8Async(Address(memory),
                                            static_cast<unsigned char>(value),
                                            size, stream);
  });
}

cudaError_t cudaMemset2D(void* memory, size_t pitch, int value, size_t width,
                         size_t height) {
  return WithContext([&](const Driver& driver) {
    return FillRows(driver, memory, pitch, value, width, height, nullptr);
  });
}

cudaError_t cudaMemset2DAsync(void* memory, size_t pitch, int value,
                              size_t width, size_t height,
                              cudaStream_t stream) {
  return WithContext([&](const Driver& driver) {
    return FillRows(driver, memory, pitch, value, width, height, &stream);
  });
}

cudaError_t cudaMemset3D(cudaPitchedPtr memory, int value, cudaExtent extent) {
  return WithContext([&](const Driver& driver) {
    return FillBox(driver, memory, value, extent, nullptr);
  });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr memory, int value,
                              cudaExtent extent, cudaStream_t stream) {
  return WithContext([&](const Driver& driver) {
    return FillBox(driver, memory, value, extent, &stream);
  });
}

}  // extern "C"
