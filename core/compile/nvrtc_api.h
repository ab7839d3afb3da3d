// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_NVRTC_API_H_
#define HOLDFAST_CORE_COMPILE_NVRTC_API_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/compile/toolkit.h"
#include "nvrtc.h"

namespace holdfast::compile {

// NVRTC as a struct of typed function pointers. Immutable once loaded, and then
// thread-safe. The library is never closed, so the pointers stay valid.
struct NvrtcApi {
  int major = 0;
  int minor = 0;
  std::string path;  // of the library

  // The folders of the toolkit's own headers (FindHeaders); may be empty.
  std::vector<std::string> include_directories;

#define HOLDFAST_NVRTC_SYMBOL(name) decltype(&::name) name = nullptr;
#include "core/compile/nvrtc_symbols.inc"
};

// Opens the library. UNAVAILABLE: it is not installed, or lacks a function; the
// message lists the searched places.
absl::StatusOr<std::unique_ptr<const NvrtcApi>> LoadNvrtc(
    const ToolkitOptions& options);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_NVRTC_API_H_
