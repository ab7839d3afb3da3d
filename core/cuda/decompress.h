// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_DECOMPRESS_H_
#define HOLDFAST_CORE_CUDA_DECOMPRESS_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace holdfast::cuda {

// The most bytes that a damaged header can make the process allocate. More than
// any PTX has.
inline constexpr size_t kMaxDecompressed = size_t{256} << 20;

// Both accept any bytes. They return false if the content does not have exactly
// `size` bytes, at most kMaxDecompressed.
bool DecompressLz4(absl::string_view block, size_t size, std::string* content);
bool DecompressZstd(absl::string_view frame, size_t size, std::string* content);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_DECOMPRESS_H_
