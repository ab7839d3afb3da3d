// SPDX-License-Identifier: Apache-2.0
//
// NVRTC as a struct of typed function pointers, filled at run time: a machine
// without the CUDA toolkit runs everything but the compiler.
#ifndef HOLDFAST_CORE_COMPILE_NVRTC_API_H_
#define HOLDFAST_CORE_COMPILE_NVRTC_API_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nvrtc.h"

namespace holdfast::compile {

// Immutable once loaded, and then thread-safe; the library stays open.
struct NvrtcApi {
  int major = 0;
  int minor = 0;
  std::string path;  // of the library

  // The toolkit's own headers, found beside the library; may be empty.
  std::vector<std::string> include_directories;

#define HOLDFAST_NVRTC_SYMBOL(name) decltype(&::name) name = nullptr;
#include "core/compile/nvrtc_symbols.inc"
};

struct NvrtcOptions {
  // Where the toolkit is. Empty: $CUDA_HOME, then the dynamic linker's search
  // path, then /usr/local/cuda and what distributions use.
  std::string cuda_home;
};

// UNAVAILABLE: not installed; the message lists where it was sought.
absl::StatusOr<std::unique_ptr<const NvrtcApi>> LoadNvrtc(
    const NvrtcOptions& options);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_NVRTC_API_H_
