// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_CONTEXT_H_
#define HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_CONTEXT_H_

#include "absl/status/statusor.h"
#include "client/cpp/local/local_driver.h"
#include "cuda.h"

namespace holdfast {

// The primary context of a device in this process, which CUDA's runtime,
// PyTorch and CuPy use, retained as long as this object lives. Move-only.
//
// Made current by ScopedLocalContext for a few calls at a time.
class LocalContext {
 public:
  // `device` as this process counts. UNAVAILABLE: the driver's error.
  // Initializes the device if nothing in this process has yet.
  static absl::StatusOr<LocalContext> Retain(const LocalDriver& driver,
                                             int device);
  LocalContext(LocalContext&& other) noexcept;
  LocalContext& operator=(LocalContext&&) = delete;
  ~LocalContext();

  // The driver's, valid in this process only.
  CUdevice device() const { return device_; }
  CUcontext handle() const { return handle_; }

 private:
  LocalContext(const LocalDriver& driver, CUdevice device, CUcontext handle)
      : driver_(driver), device_(device), handle_(handle) {}

  const LocalDriver driver_;
  const CUdevice device_;
  CUcontext handle_;  // null: moved from
};

// The context is current for the calls of one scope only; the thread's own is
// left as it was.
class ScopedLocalContext {
 public:
  // Both must outlive it. A failure is told by status().
  ScopedLocalContext(const LocalDriver& driver, const LocalContext& context)
      : driver_(driver), result_(driver.cuCtxPushCurrent(context.handle())) {}
  ~ScopedLocalContext() {
    CUcontext popped = nullptr;
    if (result_ == CUDA_SUCCESS) driver_.cuCtxPopCurrent(&popped);
  }
  ScopedLocalContext(const ScopedLocalContext&) = delete;
  ScopedLocalContext& operator=(const ScopedLocalContext&) = delete;

  // UNAVAILABLE: the driver's error; calls in the scope then fail, too.
  absl::Status status() const {
    return driver_.Check(result_, "cuCtxPushCurrent");
  }

 private:
  const LocalDriver& driver_;
  const CUresult result_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_CONTEXT_H_
