// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/local/local_context.h"

#include <utility>

#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<LocalContext> LocalContext::Retain(const LocalDriver& driver,
                                                  int device) {
  CUdevice found = 0;
  HOLDFAST_RETURN_IF_ERROR(
      driver.Check(driver.cuDeviceGet(&found, device), "cuDeviceGet"));
  CUcontext handle = nullptr;
  HOLDFAST_RETURN_IF_ERROR(
      driver.Check(driver.cuDevicePrimaryCtxRetain(&handle, found),
                   "cuDevicePrimaryCtxRetain"));
  return LocalContext(driver, found, handle);
}

LocalContext::LocalContext(LocalContext&& other) noexcept
    : driver_(other.driver_),
      device_(other.device_),
      handle_(std::exchange(other.handle_, nullptr)) {}

LocalContext::~LocalContext() {
  if (handle_ != nullptr) driver_.cuDevicePrimaryCtxRelease(device_);
}

}  // namespace holdfast
