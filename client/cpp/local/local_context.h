// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_CONTEXT_H_
#define HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_CONTEXT_H_

#include "absl/status/statusor.h"
#include "client/cpp/local/local_driver.h"
#include "cuda.h"

namespace holdfast {

// The primary context of a device in this process, which CUDA's runtime,
// PyTorch and CuPy use, retained as long as this object lives. Move-only.
class LocalContext {
 public:
  // `device` as this process counts. UNAVAILABLE: the driver's error.
  static absl::StatusOr<LocalContext> Retain(const LocalDriver& driver,
                                             int device);
  LocalContext(LocalContext&& other) noexcept;
  LocalContext& operator=(LocalContext&&) = delete;
  ~LocalContext();

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
  ScopedLocalContext(const LocalDriver& driver, const LocalContext& context)
      : driver_(driver), result_(driver.cuCtxPushCurrent(context.handle())) {}
  ~ScopedLocalContext() {
    CUcontext popped = nullptr;
    if (result_ == CUDA_SUCCESS) driver_.cuCtxPopCurrent(&popped);
  }
  ScopedLocalContext(const ScopedLocalContext&) = delete;
  ScopedLocalContext& operator=(const ScopedLocalContext&) = delete;

  absl::Status status() const {
    return driver_.Check(result_, "cuCtxPushCurrent");
  }

 private:
  const LocalDriver& driver_;
  const CUresult result_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_CONTEXT_H_
