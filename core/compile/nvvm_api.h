// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_NVVM_API_H_
#define HOLDFAST_CORE_COMPILE_NVVM_API_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/compile/toolkit.h"
#include "nvvm.h"

namespace holdfast::compile {

// libNVVM as a struct of typed function pointers. Immutable once loaded, and
// then thread-safe. The library is never closed, so the pointers stay valid.
struct NvvmApi {
  int major = 0;
  int minor = 0;
  // The version of the IR that libNVVM reads.
  int ir_major = 0;
  int ir_minor = 0;
  std::string path;  // of the library

  // The path of libdevice.10.bc; empty if it is not installed.
  std::string libdevice;

#define HOLDFAST_NVVM_SYMBOL(name) decltype(&::name) name = nullptr;
#include "core/compile/nvvm_symbols.inc"
};

// Opens the library. UNAVAILABLE: it is not installed, or lacks a function; the
// message lists the searched places.
absl::StatusOr<std::unique_ptr<const NvvmApi>> LoadNvvm(
    const ToolkitOptions& options);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_NVVM_API_H_
