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

// Returns the name that ParseElementType accepts: "f32".
absl::string_view Name(ElementType type);
// Returns the size of an element in bytes.
size_t Size(ElementType type);
// Returns NumPy's name: "<f4". NumPy has no bfloat16, so kBF16 is two opaque
// bytes, "|V2".
absl::string_view NumpyDescription(ElementType type);

// Returns the type with this name. INVALID_ARGUMENT: there is none; the message
// lists the names.
absl::StatusOr<ElementType> ParseElementType(absl::string_view name);
// Returns the type with this name of NumPy's. Types of one byte may have any
// byte order. INVALID_ARGUMENT: the type is not supported (big-endian, objects,
// strings); the message names it.
absl::StatusOr<ElementType> ParseNumpyDescription(absl::string_view text);

// Returns the little-endian bytes of a scalar: "2", "-1", "0xff", "1.5", "inf",
// "true". Integers may be hexadecimal; floats are rounded to nearest, ties to
// even. INVALID_ARGUMENT: the text is no value of the type; the value is out of
// range, which includes a finite float that rounds to infinity and a nonzero
// float that rounds to 0; or the type is complex.
absl::StatusOr<std::string> ParseScalar(ElementType type,
                                        absl::string_view text);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_ELEMENT_TYPE_H_
