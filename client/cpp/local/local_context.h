// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_CONTEXT_H_
#define HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_CONTEXT_H_

#include "absl/status/statusor.h"
#include "client/cpp/local/local_driver.h"
#include "cuda.h"

namespace holdfast {

// Retains the primary context of a device in this process, which CUDA's
// runtime, PyTorch and CuPy use. Move-only.
//
// Made current by ScopedLocalContext for a few calls at a time.
class LocalContext {
 public:
  // Retains the primary context of the device with this ordinal in this
  // process, and initializes it if this process has not done so. UNAVAILABLE:
  // the driver's error.
  static absl::StatusOr<LocalContext> Retain(const LocalDriver& driver,
                                             int device);
  LocalContext(LocalContext&& other) noexcept;
  LocalContext& operator=(LocalContext&&) = delete;
  ~LocalContext();

  // The driver's device, valid in this process only.
  CUdevice device() const { return device_; }
  CUcontext handle() const { return handle_; }

 private:
  LocalContext(const LocalDriver& driver, CUdevice device, CUcontext handle)
      : driver_(driver), device_(device), handle_(handle) {}

  const LocalDriver driver_;
  const CUdevice device_;
  CUcontext handle_;  // null: moved from
};

// Makes a context current in a scope, and restores the thread's earlier context
// afterwards.
class ScopedLocalContext {
 public:
  // Makes `context` current; status() returns a failure. Both arguments must
  // outlive this object.
  ScopedLocalContext(const LocalDriver& driver, const LocalContext& context)
      : driver_(driver), result_(driver.cuCtxPushCurrent(context.handle())) {}
  ~ScopedLocalContext() {
    CUcontext popped = nullptr;
    if (result_ == CUDA_SUCCESS) driver_.cuCtxPopCurrent(&popped);
  }
  ScopedLocalContext(const ScopedLocalContext&) = delete;
  ScopedLocalContext& operator=(const ScopedLocalContext&) = delete;

  // Returns UNAVAILABLE with the driver's error if the context could not be
  // made current; calls in the scope then fail, too.
  absl::Status status() const {
    return driver_.Check(result_, "cuCtxPushCurrent");
  }

 private:
  const LocalDriver& driver_;
  const CUresult result_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_CONTEXT_H_
