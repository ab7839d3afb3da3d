// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_DECOMPRESS_H_
#define HOLDFAST_CORE_CUDA_DECOMPRESS_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace holdfast::cuda {

// More than any PTX: what a damaged header may make us allocate.
inline constexpr size_t kMaxDecompressed = size_t{256} << 20;

// Both take any bytes and return false unless they hold exactly `size` bytes
// of content, at most kMaxDecompressed.
bool DecompressLz4(absl::string_view block, size_t size, std::string* content);
bool DecompressZstd(absl::string_view frame, size_t size, std::string* content);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_DECOMPRESS_H_
