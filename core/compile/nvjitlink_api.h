// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_NVJITLINK_API_H_
#define HOLDFAST_CORE_COMPILE_NVJITLINK_API_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/compile/toolkit.h"
#include "nvJitLink.h"

namespace holdfast::compile {

// nvJitLink as a struct of typed function pointers. Immutable once loaded. The
// library is never closed, so the pointers stay valid.
struct NvJitLinkApi {
  unsigned major = 0;
  unsigned minor = 0;
  std::string path;  // of the library

#define HOLDFAST_NVJITLINK_SYMBOL(name) decltype(&::name) name = nullptr;
#include "core/compile/nvjitlink_symbols.inc"
};

// Opens the library. UNAVAILABLE: it is not installed, or lacks a function; the
// message lists the searched places.
absl::StatusOr<std::unique_ptr<const NvJitLinkApi>> LoadNvJitLink(
    const ToolkitOptions& options);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_NVJITLINK_API_H_
