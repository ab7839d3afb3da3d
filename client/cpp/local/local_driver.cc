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
        absl::StrCat("no CUDA driver in this process: ", dlerror(),
                     "; for the memory of a daemon on the software device, "
                     "LocalMappingOptions::driver names that driver, or "
                     "LD_LIBRARY_PATH=$(holdfast cuda-path --cpu) has the "
                     "program find it"));
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

absl::Status LocalDriver::CheckImport(CUresult result) const {
  const absl::Status status = Check(result, "cuMemImportFromShareableHandle");
  if (result != CUDA_ERROR_INVALID_VALUE) return status;
  Dl_info place = {};
  const bool is_known = dladdr(reinterpret_cast<void*>(cuInit), &place) != 0;
  return absl::UnavailableError(absl::StrCat(
      status.message(), " from ",
      is_known ? place.dli_fname : "this process's libcuda.so.1",
      "; a program under `holdfast exec` has Holdfast's own libcuda.so.1, "
      "whose memory is the daemon's: start it without, or name the driver "
      "(LocalMappingOptions::driver)"));
}

absl::Status LocalDriver::Check(CUresult result, const char* call) const {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  return absl::UnavailableError(
      absl::StrCat(call, ": ", name == nullptr ? "an error" : name));
}

}  // namespace holdfast
