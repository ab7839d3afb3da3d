// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_NVML_NVML_API_H_
#define HOLDFAST_CORE_NVML_NVML_API_H_

#include <memory>
#include <string>
#include <type_traits>

#include "absl/status/statusor.h"
#include "core/nvml/nvml_abi.h"

namespace holdfast::nvml {

// NVML as a struct of typed function pointers. Optional functions that the
// library lacks are null. Immutable once loaded. The library is never closed,
// so the pointers stay valid.
struct NvmlApi {
#define HOLDFAST_NVML_REQUIRED(member, symbol, ...) \
  std::add_pointer_t<__VA_ARGS__> member = nullptr;
#define HOLDFAST_NVML_OPTIONAL(member, symbol, ...) \
  std::add_pointer_t<__VA_ARGS__> member = nullptr;
#include "core/nvml/nvml_symbols.inc"
};

// Loads the library and initialises it. UNAVAILABLE: the library is missing,
// lacks a required function, or finds no driver; the message has the reason.
absl::StatusOr<std::unique_ptr<const NvmlApi>> LoadNvml(
    const std::string& library = "libnvidia-ml.so.1");

// Returns OK for kSuccess; otherwise UNAVAILABLE, with `function` and NVML's
// text for the result in the message.
absl::Status ToStatus(const NvmlApi& api, const char* function, Return result);

}  // namespace holdfast::nvml

#endif  // HOLDFAST_CORE_NVML_NVML_API_H_
