// SPDX-License-Identifier: Apache-2.0
//
// Element types and sizes of arrays, by the names that safetensors files give
// them. Shapes are always hostile input.
#ifndef HOLDFAST_CORE_BASE_ARRAY_LAYOUT_H_
#define HOLDFAST_CORE_BASE_ARRAY_LAYOUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace holdfast {

inline constexpr size_t kMaxDimensions = 32;

// Returns the bits of an element of "F32", "BF16", ...: 4 to 128; 0 if the type
// is unknown.
uint32_t ElementBits(absl::string_view dtype);

// Returns the bytes of an array without gaps. INVALID_ARGUMENT: a dtype that is
// not known, more than kMaxDimensions, a size
//   that 64 bits cannot count, or one that is not whole bytes.
absl::StatusOr<uint64_t> ArrayBytes(absl::string_view dtype,
                                    absl::Span<const uint64_t> shape);

// Returns the bytes from the first element to the end of the last. `strides`
// has the stride of each dimension in elements; empty: as ArrayBytes.
// INVALID_ARGUMENT: also strides below 0, not one for each dimension, or of
//   elements that are not whole bytes.
absl::StatusOr<uint64_t> ArrayExtent(absl::string_view dtype,
                                     absl::Span<const uint64_t> shape,
                                     absl::Span<const int64_t> strides);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_ARRAY_LAYOUT_H_
