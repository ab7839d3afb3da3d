// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memory pools.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return CallDriver(&Driver::DeviceGetDefaultMemPool, pool, device);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return CallDriver(&Driver::DeviceGetMemPool, pool, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return CallDriver(&Driver::DeviceSetMemPool, device, pool);
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool,
                                     cudaMemLocation* location,
                                     cudaMemAllocationType type) {
  return CallDriver(&Driver::MemGetDefaultMemPool, pool,
                    As<CUmemLocation>(location),
                    static_cast<CUmemAllocationType>(type));
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                              cudaMemAllocationType type) {
  return CallDriver(&Driver::MemGetMemPool, pool, As<CUmemLocation>(location),
                    static_cast<CUmemAllocationType>(type));
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location,
                              cudaMemAllocationType type, cudaMemPool_t pool) {
  return CallDriver(&Driver::MemSetMemPool, As<CUmemLocation>(location),
                    static_cast<CUmemAllocationType>(type), pool);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool,
                              const cudaMemPoolProps* properties) {
  return CallInContext(&Driver::MemPoolCreate, pool,
                       As<const CUmemPoolProps>(properties));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return CallInContext(&Driver::MemPoolDestroy, pool);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t size) {
  return CallInContext(&Driver::MemPoolTrimTo, pool, size);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool,
                                    cudaMemPoolAttr attribute, void* value) {
  return CallInContext(&Driver::MemPoolSetAttribute, pool,
                       static_cast<CUmemPool_attribute>(attribute), value);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool,
                                    cudaMemPoolAttr attribute, void* value) {
  return CallInContext(&Driver::MemPoolGetAttribute, pool,
                       static_cast<CUmemPool_attribute>(attribute), value);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool,
                                 const cudaMemAccessDesc* descriptions,
                                 size_t count) {
  return CallInContext(&Driver::MemPoolSetAccess, pool,
                       As<const CUmemAccessDesc>(descriptions), count);
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 cudaMemLocation* location) {
  return CallInContext(&Driver::MemPoolGetAccess, As<CUmemAccess_flags>(flags),
                       pool, As<CUmemLocation>(location));
}

cudaError_t cudaMemPoolExportToShareableHandle(void* handle, cudaMemPool_t pool,
                                               cudaMemAllocationHandleType type,
                                               unsigned flags) {
  return CallInContext(&Driver::MemPoolExportToShareableHandle, handle, pool,
                       static_cast<CUmemAllocationHandleType>(type), flags);
}

cudaError_t cudaMemPoolImportFromShareableHandle(
    cudaMemPool_t* pool, void* handle, cudaMemAllocationHandleType type,
    unsigned flags) {
  return CallInContext(&Driver::MemPoolImportFromShareableHandle, pool, handle,
                       static_cast<CUmemAllocationHandleType>(type), flags);
}

cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData* data,
                                     void* pointer) {
  return CallInContext(&Driver::MemPoolExportPointer,
                       As<CUmemPoolPtrExportData>(data), Address(pointer));
}

cudaError_t cudaMemPoolImportPointer(void** pointer, cudaMemPool_t pool,
                                     cudaMemPoolPtrExportData* data) {
  return CallInContext(&Driver::MemPoolImportPointer, As<CUdeviceptr>(pointer),
                       pool, As<CUmemPoolPtrExportData>(data));
}

}  // extern "C"
