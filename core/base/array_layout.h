// SPDX-License-Identifier: Apache-2.0
//
// Element types of arrays, by the names that safetensors files use, and the
// sizes of arrays. Shapes and names are untrusted.
#ifndef HOLDFAST_CORE_BASE_ARRAY_LAYOUT_H_
#define HOLDFAST_CORE_BASE_ARRAY_LAYOUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace holdfast {

inline constexpr size_t kMaxDimensions = 32;

// Returns the number of bits of an element of the type "F32", "BF16", ...: 4 to
// 128. Returns 0 if the type is unknown.
uint32_t ElementBits(absl::string_view dtype);

// Returns the bytes of an array without gaps between its elements.
// INVALID_ARGUMENT: `dtype` is unknown, there are more than kMaxDimensions
// dimensions, or the size overflows 64 bits or is not a whole number of bytes.
absl::StatusOr<uint64_t> ArrayBytes(absl::string_view dtype,
                                    absl::Span<const uint64_t> shape);

// Returns the bytes from the first element to the end of the last element.
// `strides` has the stride of each dimension in elements; empty: the array has
// no gaps. Fails as ArrayBytes does. INVALID_ARGUMENT also: a stride is
// negative, the number of strides is not the number of dimensions, or an array
// with strides has elements that are not whole bytes.
absl::StatusOr<uint64_t> ArrayExtent(absl::string_view dtype,
                                     absl::Span<const uint64_t> shape,
                                     absl::Span<const int64_t> strides);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_ARRAY_LAYOUT_H_
