// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_ELEMENT_TYPE_H_
#define HOLDFAST_CLIENT_CLI_ELEMENT_TYPE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast::cli {

// The element types of scalars and arrays on the command line.
enum class ElementType {
  kBool,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,
  kC128,
};

// The name that ParseElementType takes: "f32".
absl::string_view Name(ElementType type);
// Bytes.
size_t Size(ElementType type);
// NumPy's name: "<f4". NumPy has no bfloat16: two opaque bytes, "|V2".
absl::string_view NumpyDescription(ElementType type);

// INVALID_ARGUMENT lists the names.
absl::StatusOr<ElementType> ParseElementType(absl::string_view name);
// INVALID_ARGUMENT names what is unsupported: big-endian, objects, strings.
// Types of one byte may have any byte order.
absl::StatusOr<ElementType> ParseNumpyDescription(absl::string_view text);

// Returns the little-endian bytes of a scalar: "2", "-1", "0xff", "1.5", "inf",
// "true". Integers may be hexadecimal; floats are rounded to nearest, ties to
// even. INVALID_ARGUMENT: not a value of the type, out of its range (also a
// finite float that rounds to infinity, or a nonzero one to 0), or a complex
// type.
absl::StatusOr<std::string> ParseScalar(ElementType type,
                                        absl::string_view text);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_ELEMENT_TYPE_H_
