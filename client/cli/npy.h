// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files: versions 1.0, 2.0 and 3.0, C order, little-endian basic
// types (element_type.h). Input is hostile: whatever is malformed is a Status.
#ifndef HOLDFAST_CLIENT_CLI_NPY_H_
#define HOLDFAST_CLIENT_CLI_NPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/element_type.h"

namespace holdfast::cli {

struct Array {
  ElementType type = ElementType::kF32;
  // Empty: a single element.
  std::vector<uint64_t> shape;
  // The elements, row by row.
  std::string bytes;
};

// Bytes of an array; INVALID_ARGUMENT if 64 bits cannot hold the number.
absl::StatusOr<uint64_t> ByteSize(ElementType type,
                                  const std::vector<uint64_t>& shape);
// "f32[10,20]"
std::string Describe(ElementType type, const std::vector<uint64_t>& shape);

// INVALID_ARGUMENT: not a .npy file; truncated; more or fewer bytes than the
// shape has; Fortran order; a type that is not supported.
absl::StatusOr<Array> ParseNpy(absl::string_view file);
// Version 1.0.
std::string SerializeNpy(const Array& array);

// Messages begin with the path.
absl::StatusOr<Array> ReadNpy(const std::string& path);
absl::Status WriteNpy(const std::string& path, const Array& array);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_NPY_H_
