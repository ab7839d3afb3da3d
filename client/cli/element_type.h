// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_ELEMENT_TYPE_H_
#define HOLDFAST_CLIENT_CLI_ELEMENT_TYPE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast::cli {

// The types of scalars and array elements that the command line knows.
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

// "f32": the names that ParseElementType takes.
absl::string_view Name(ElementType type);
// Bytes.
size_t Size(ElementType type);
// As NumPy writes it: "<f4". NumPy has no bfloat16: two opaque bytes, "|V2".
absl::string_view NumpyDescription(ElementType type);

// INVALID_ARGUMENT lists the names.
absl::StatusOr<ElementType> ParseElementType(absl::string_view name);
// INVALID_ARGUMENT says what is not supported: big-endian, objects, strings.
// One byte has no order, so any is taken there.
absl::StatusOr<ElementType> ParseNumpyDescription(absl::string_view text);

// The little-endian bytes of a scalar: "2", "-1", "0xff", "1.5", "inf", "true".
// Floats are rounded to nearest, ties to even. INVALID_ARGUMENT: not of the
// type, or out of its range: a number that would become infinite, or 0 and is
// not. Complex types have no scalars; whole numbers may be hexadecimal.
absl::StatusOr<std::string> ParseScalar(ElementType type,
                                        absl::string_view text);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_ELEMENT_TYPE_H_
