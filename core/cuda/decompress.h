// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_DECOMPRESS_H_
#define HOLDFAST_CORE_CUDA_DECOMPRESS_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace holdfast::cuda {

// The maximum of the bytes that a part of a fat binary may have when it is
// decompressed, so that a damaged header cannot make the process allocate more.
// No PTX has as many bytes.
inline constexpr size_t kMaxDecompressed = size_t{256} << 20;

// Set *content to the decompressed bytes of an LZ4 block or a Zstandard frame.
// The input is untrusted. Return false if it is damaged, if the content does
// not have exactly `size` bytes, or if `size` is more than kMaxDecompressed.
bool DecompressLz4(absl::string_view block, size_t size, std::string* content);
bool DecompressZstd(absl::string_view frame, size_t size, std::string* content);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_DECOMPRESS_H_
