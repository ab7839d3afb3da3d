// SPDX-License-Identifier: Apache-2.0
//
// Entry points: devices and their contexts.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

namespace {

// body(const Driver&, int device) with the device of the thread.
template <typename Body>
cudaError_t WithCurrentDevice(Body body) {
  return WithDriver([&](const Driver& driver) -> cudaError_t {
    int device = 0;
    const cudaError_t error = CurrentDevice(driver, &device);
    return error != cudaSuccess ? error : Translate(body(driver, device));
  });
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return Record(cudaErrorInvalidValue);
  *count = 0;
  return WithDriver([&](const Driver& driver) -> cudaError_t {
    const CUresult result = driver.DeviceGetCount(count);
    if (result != CUDA_SUCCESS) return Translate(result);
    return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return WithDriver(
      [&](const Driver& driver) { return SelectDevice(driver, device); });
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return Record(cudaErrorInvalidValue);
  return WithDriver(
      [&](const Driver& driver) { return CurrentDevice(driver, device); });
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
  if ((flags & ~cudaInitDeviceFlagsAreValid) != 0) {
    return Record(cudaErrorInvalidValue);
  }
  return WithDriver([&](const Driver& driver) -> cudaError_t {
    if ((flags & cudaInitDeviceFlagsAreValid) != 0) {
      const CUresult result =
          driver.DevicePrimaryCtxSetFlags(device, device_flags);
      if (result != CUDA_SUCCESS) return Translate(result);
    }
    CUcontext context = nullptr;
    return PrimaryContext(driver, device, &context);
  });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return WithCurrentDevice([&](const Driver& driver, int device) {
    return driver.DevicePrimaryCtxSetFlags(device, flags);
  });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  if (flags == nullptr) return Record(cudaErrorInvalidValue);
  return WithCurrentDevice([&](const Driver& driver, int device) {
    int active = 0;
    const CUresult result =
        driver.DevicePrimaryCtxGetState(device, flags, &active);
    // As CUDA's runtime: host memory can be mapped in any case.
    if (result == CUDA_SUCCESS) *flags |= cudaDeviceMapHost;
    return result;
  });
}

cudaError_t cudaDeviceReset() {
  return WithDriver([](const Driver& driver) { return ResetDevice(driver); });
}

cudaError_t cudaDeviceSynchronize() {
  return CallInContext(&Driver::CtxSynchronize);
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return CallInContext(&Driver::CtxSetLimit, static_cast<CUlimit>(limit),
                       value);
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return CallInContext(&Driver::CtxGetLimit, value,
                       static_cast<CUlimit>(limit));
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return CallInContext(&Driver::CtxGetCacheConfig, As<CUfunc_cache>(config));
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return CallInContext(&Driver::CtxSetCacheConfig,
                       static_cast<CUfunc_cache>(config));
}

// Every device since Maxwell has banks of four bytes, and no choice.
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  if (config == nullptr) return Record(cudaErrorInvalidValue);
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return CallInContext(&Driver::CtxGetStreamPriorityRange, least, greatest);
}

cudaError_t cudaCtxResetPersistingL2Cache() {
  return CallInContext(&Driver::CtxResetPersistingL2Cache);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute,
                                   int device) {
  return CallDriver(&Driver::DeviceGetAttribute, value,
                    static_cast<CUdevice_attribute>(attribute), device);
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int size, int device) {
  return CallDriver(&Driver::DeviceGetPCIBusId, id, size, device);
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  return CallDriver(&Driver::DeviceGetByPCIBusId, device, id);
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return CallDriver(&Driver::DeviceCanAccessPeer, can, device, peer);
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute,
                                      int from, int to) {
  return CallDriver(&Driver::DeviceGetP2PAttribute, value,
                    static_cast<CUdevice_P2PAttribute>(attribute), from, to);
}

cudaError_t cudaDeviceGetHostAtomicCapabilities(
    unsigned* capabilities, const cudaAtomicOperation* operations,
    unsigned count, int device) {
  return CallDriver(&Driver::DeviceGetHostAtomicCapabilities, capabilities,
                    As<const CUatomicOperation>(operations), count, device);
}

cudaError_t cudaDeviceGetP2PAtomicCapabilities(
    unsigned* capabilities, const cudaAtomicOperation* operations,
    unsigned count, int from, int to) {
  return CallDriver(&Driver::DeviceGetP2PAtomicCapabilities, capabilities,
                    As<const CUatomicOperation>(operations), count, from, to);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return WithContext([&](const Driver& driver) -> cudaError_t {
    CUcontext context = nullptr;
    const cudaError_t error = PrimaryContext(driver, peer, &context);
    if (error != cudaSuccess) return error;
    return Translate(driver.CtxEnablePeerAccess(context, flags));
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return WithContext([&](const Driver& driver) -> cudaError_t {
    CUcontext context = nullptr;
    const cudaError_t error = PrimaryContext(driver, peer, &context);
    if (error != cudaSuccess) return error;
    return Translate(driver.CtxDisablePeerAccess(context));
  });
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(
    cudaFlushGPUDirectRDMAWritesTarget target,
    cudaFlushGPUDirectRDMAWritesScope scope) {
  return CallInContext(&Driver::FlushGPUDirectRDMAWrites,
                       static_cast<CUflushGPUDirectRDMAWritesTarget>(target),
                       static_cast<CUflushGPUDirectRDMAWritesScope>(scope));
}

}  // extern "C"
