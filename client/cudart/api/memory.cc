// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memory of devices and of the host.
#include <iterator>

#include "client/cudart/call.h"

using namespace holdfast::libcudart;

namespace {

constexpr int kNoDevice = cudaInvalidDeviceId;

cudaError_t AllocateHost(void** pointer, size_t size, unsigned flags) {
  if (pointer == nullptr) return Record(cudaErrorInvalidValue);
  *pointer = nullptr;
  return WithContext([&](const Driver& driver) {
    return size == 0 ? CUDA_SUCCESS : driver.MemHostAlloc(pointer, size, flags);
  });
}

cudaError_t AllocateRows(void** pointer, size_t* pitch, size_t width,
                         size_t height) {
  if (AnyNull(pointer, pitch)) return Record(cudaErrorInvalidValue);
  *pointer = nullptr;
  return WithContext([&](const Driver& driver) {
    if (width == 0 || height == 0) {
      *pitch = 0;
      return CUDA_SUCCESS;
    }
    // 4: the size in bytes of the elements that kernels will read.
    return driver.MemAllocPitch(As<CUdeviceptr>(pointer), pitch, width, height,
                                4);
  });
}

cudaMemoryType TypeOf(unsigned type, bool managed) {
  if (managed) return cudaMemoryTypeManaged;
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      return cudaMemoryTypeHost;
    case CU_MEMORYTYPE_DEVICE:
      return cudaMemoryTypeDevice;
    default:
      return cudaMemoryTypeUnregistered;
  }
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t size) {
  if (pointer == nullptr) return Record(cudaErrorInvalidValue);
  *pointer = nullptr;
  return WithContext([&](const Driver& driver) {
    return size == 0 ? CUDA_SUCCESS
                     : driver.MemAlloc(As<CUdeviceptr>(pointer), size);
  });
}

cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned flags) {
  if (pointer == nullptr || size == 0) return Record(cudaErrorInvalidValue);
  return CallInContext(&Driver::MemAllocManaged, As<CUdeviceptr>(pointer), size,
                       flags);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width,
                            size_t height) {
  return AllocateRows(pointer, pitch, width, height);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
  if (memory == nullptr) return Record(cudaErrorInvalidValue);
  size_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) {
    return Record(cudaErrorMemoryAllocation);
  }
  memory->xsize = extent.width;
  memory->ysize = extent.height;
  return AllocateRows(&memory->ptr, &memory->pitch, extent.width, rows);
}

// cudaFree(nullptr) frees nothing, but creates the context, and returns the
// error of a fault. The same holds for cudaFreeHost.
cudaError_t cudaFree(void* pointer) {
  return CallInContext(&Driver::MemFree, Address(pointer));
}

cudaError_t cudaMallocHost(void** pointer, size_t size) {
  return AllocateHost(pointer, size, 0);
}

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned flags) {
  return AllocateHost(pointer, size, flags);
}

cudaError_t cudaFreeHost(void* pointer) {
  return CallInContext(&Driver::MemFreeHost, pointer);
}

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned flags) {
  return CallInContext(&Driver::MemHostRegister, pointer, size, flags);
}

cudaError_t cudaHostUnregister(void* pointer) {
  return CallInContext(&Driver::MemHostUnregister, pointer);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host,
                                     unsigned flags) {
  return CallInContext(&Driver::MemHostGetDevicePointer,
                       As<CUdeviceptr>(device), host, flags);
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return CallInContext(&Driver::MemHostGetFlags, flags, host);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  size_t unused = 0;
  return CallInContext(&Driver::MemGetInfo, free == nullptr ? &unused : free,
                       total == nullptr ? &unused : total);
}

cudaError_t cudaMemAdvise(const void* pointer, size_t size,
                          cudaMemoryAdvise advice, cudaMemLocation location) {
  return CallInContext(&Driver::MemAdvise, Address(pointer), size,
                       static_cast<CUmem_advise>(advice),
                       *As<CUmemLocation>(&location));
}

cudaError_t cudaMemRangeGetAttribute(void* data, size_t data_size,
                                     cudaMemRangeAttribute attribute,
                                     const void* pointer, size_t size) {
  return CallInContext(&Driver::MemRangeGetAttribute, data, data_size,
                       static_cast<CUmem_range_attribute>(attribute),
                       Address(pointer), size);
}

cudaError_t cudaMemRangeGetAttributes(void** data, size_t* data_sizes,
                                      cudaMemRangeAttribute* attributes,
                                      size_t count, const void* pointer,
                                      size_t size) {
  return CallInContext(&Driver::MemRangeGetAttributes, data, data_sizes,
                       As<CUmem_range_attribute>(attributes), count,
                       Address(pointer), size);
}

// A pointer that the driver does not know is one of the host.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                     const void* pointer) {
  if (attributes == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) -> CUresult {
    unsigned type = 0;
    unsigned managed = 0;
    int device = kNoDevice;
    *attributes = {};
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void* values[] = {&type, &managed, &device, &attributes->devicePointer,
                      &attributes->hostPointer};
    const CUresult result = driver.PointerGetAttributes(
        std::size(names), names, values, Address(pointer));
    attributes->type = TypeOf(type, managed != 0);
    const bool known = attributes->type != cudaMemoryTypeUnregistered;
    attributes->device = known ? device : kNoDevice;
    if (!known) attributes->hostPointer = const_cast<void*>(pointer);
    return result;
  });
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return CallInContext(&Driver::IpcGetMemHandle, As<CUipcMemHandle>(handle),
                       Address(pointer));
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle,
                                 unsigned flags) {
  return CallInContext(&Driver::IpcOpenMemHandle, As<CUdeviceptr>(pointer),
                       *As<CUipcMemHandle>(&handle), flags);
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return CallInContext(&Driver::IpcCloseMemHandle, Address(pointer));
}

}  // extern "C"
