// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/contexts.h"

#include <atomic>
#include <map>
#include <mutex>

#include "client/cudart/errors.h"

namespace holdfast::libcudart {
namespace {

// The primary context of one device.
struct Primary {
  std::mutex mutex;
  CUcontext context = nullptr;     // Null: not retained. Guarded by `mutex`.
  std::atomic<unsigned> resets{};  // How often it has been destroyed.
};

// Nothing of it is ever freed, so that exit handlers may call the runtime.
Primary& PrimaryOf(int device) {
  static auto* const mutex = new std::mutex;
  static auto* const primaries = new std::map<int, Primary>;
  const std::lock_guard lock(*mutex);
  return (*primaries)[device];
}

struct ThreadState {
  int device = 0;
  // The primary context that the runtime has made current in this thread.
  CUcontext context = nullptr;
  Primary* primary = nullptr;
  unsigned resets = 0;

  // True if `context` has been destroyed since.
  bool IsStale() const {
    return primary != nullptr && resets != primary->resets;
  }
};
thread_local ThreadState thread;

cudaError_t Retain(const Driver& driver, int device, Primary& primary,
                   CUcontext* context, unsigned* resets) {
  const std::lock_guard lock(primary.mutex);
  if (primary.context == nullptr) {
    const CUresult result =
        driver.DevicePrimaryCtxRetain(&primary.context, device);
    if (result != CUDA_SUCCESS) {
      primary.context = nullptr;
      return Translate(result);
    }
  }
  *context = primary.context;
  *resets = primary.resets;
  return cudaSuccess;
}

// Makes the primary context of the thread's device current.
cudaError_t Bind(const Driver& driver, int device) {
  ThreadState bound{.device = device, .primary = &PrimaryOf(device)};
  const cudaError_t error =
      Retain(driver, device, *bound.primary, &bound.context, &bound.resets);
  if (error != cudaSuccess) return error;
  const CUresult result = driver.CtxSetCurrent(bound.context);
  if (result == CUDA_SUCCESS) thread = bound;
  return Translate(result);
}

// Null: none is current, or one that a reset has destroyed.
cudaError_t LiveContext(const Driver& driver, CUcontext* context) {
  const CUresult result = driver.CtxGetCurrent(context);
  if (*context == thread.context && thread.IsStale()) *context = nullptr;
  return Translate(result);
}

cudaError_t CheckDevice(const Driver& driver, int device) {
  int count = 0;
  const CUresult result = driver.DeviceGetCount(&count);
  if (result != CUDA_SUCCESS) return Translate(result);
  if (count == 0) return cudaErrorNoDevice;
  return device < 0 || device >= count ? cudaErrorInvalidDevice : cudaSuccess;
}

}  // namespace

cudaError_t EnterContext(const Driver& driver, CUcontext* context) {
  cudaError_t error = LiveContext(driver, context);
  if (error != cudaSuccess || *context != nullptr) return error;
  error = Bind(driver, thread.device);
  *context = thread.context;
  return error;
}

cudaError_t PrimaryContext(const Driver& driver, int device,
                           CUcontext* context) {
  const cudaError_t error = CheckDevice(driver, device);
  if (error != cudaSuccess) return error;
  unsigned resets = 0;
  return Retain(driver, device, PrimaryOf(device), context, &resets);
}

cudaError_t SelectDevice(const Driver& driver, int device) {
  const cudaError_t error = CheckDevice(driver, device);
  return error != cudaSuccess ? error : Bind(driver, device);
}

cudaError_t CurrentDevice(const Driver& driver, int* device) {
  CUcontext current = nullptr;
  const cudaError_t error = LiveContext(driver, &current);
  if (error != cudaSuccess) return error;
  if (current != nullptr) return Translate(driver.CtxGetDevice(device));
  *device = thread.device;
  return cudaSuccess;
}

cudaError_t ResetDevice(const Driver& driver) {
  int device = 0;
  // After a fault no context can be asked for its device.
  if (CurrentDevice(driver, &device) != cudaSuccess) device = thread.device;
  Primary& primary = PrimaryOf(device);
  const std::lock_guard lock(primary.mutex);
  if (primary.context != nullptr) {
    // A context of the program's own stays current.
    CUcontext current = nullptr;
    driver.CtxGetCurrent(&current);
    if (current == primary.context) driver.CtxSetCurrent(nullptr);
    driver.DevicePrimaryCtxRelease(device);
    primary.context = nullptr;
    ++primary.resets;
  }
  thread = {.device = device};
  return Translate(driver.DevicePrimaryCtxReset(device));
}

}  // namespace holdfast::libcudart
