// SPDX-License-Identifier: Apache-2.0
#include "core/nvml/nvml_api.h"

#include <dlfcn.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast::nvml {
namespace {

absl::Status Fill(void* library, const std::string& name, NvmlApi* api) {
#define HOLDFAST_NVML_OPTIONAL(member, symbol, ...) \
  api->member = reinterpret_cast<decltype(api->member)>(dlsym(library, symbol));
#define HOLDFAST_NVML_REQUIRED(member, symbol, ...)                        \
  api->member =                                                            \
      reinterpret_cast<decltype(api->member)>(dlsym(library, symbol));     \
  if (api->member == nullptr) {                                            \
    return absl::UnavailableError(absl::StrCat(name, " has no ", symbol)); \
  }
#include "core/nvml/nvml_symbols.inc"
  return absl::OkStatus();
}

}  // namespace

absl::Status ToStatus(const NvmlApi& api, const char* function, Return result) {
  if (result == kSuccess) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(function, ": ",
                   api.error_string == nullptr ? absl::StrCat("error ", result)
                                               : api.error_string(result)));
}

absl::StatusOr<std::unique_ptr<const NvmlApi>> LoadNvml(
    const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::UnavailableError(absl::StrCat("no NVML: ", dlerror()));
  }
  auto api = std::make_unique<NvmlApi>();
  HOLDFAST_RETURN_IF_ERROR(Fill(handle, library, api.get()));
  HOLDFAST_RETURN_IF_ERROR(ToStatus(*api, "nvmlInit_v2", api->init()));
  return api;
}

}  // namespace holdfast::nvml
