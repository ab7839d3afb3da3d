// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/local/local_driver.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<LocalDriver> LocalDriver::Load(const std::string& library) {
  const char* const file = library.empty() ? "libcuda.so.1" : library.c_str();
  // Never closed: drivers leave threads behind.
  void* const opened = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("no CUDA driver in this process: ", dlerror()));
  }
  LocalDriver driver;
#define HOLDFAST_LOCAL_DRIVER_FIND(name, symbol)                       \
  driver.name =                                                        \
      reinterpret_cast<decltype(driver.name)>(dlsym(opened, #symbol)); \
  if (driver.name == nullptr) {                                        \
    return absl::UnavailableError(                                     \
        absl::StrCat(file, " does not have " #symbol));                \
  }
  HOLDFAST_LOCAL_DRIVER_CALLS(HOLDFAST_LOCAL_DRIVER_FIND)
#undef HOLDFAST_LOCAL_DRIVER_FIND
  HOLDFAST_RETURN_IF_ERROR(driver.Check(driver.cuInit(0), "cuInit"));
  return driver;
}

absl::Status LocalDriver::Check(CUresult result, const char* call) const {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  return absl::UnavailableError(
      absl::StrCat(call, ": ", name == nullptr ? "an error" : name));
}

}  // namespace holdfast
