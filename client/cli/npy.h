// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files: versions 1.0, 2.0 and 3.0, little-endian basic types
// (element_type.h). Input is hostile: whatever is malformed is a Status.
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

// A .npy file in memory, in C order.
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

// A file without its data. Made by ParseNpyHeader.
struct NpyHeader {
  ElementType type = ElementType::kF32;
  // Columns come one after the other, not rows.
  bool fortran_order = false;
  std::vector<uint64_t> shape;
  // Where the data begins, and its bytes.
  uint64_t data_offset = 0;
  uint64_t data_size = 0;
};

// As much of a file's beginning as tells where its data begins; a file that is
// shorter is none.
inline constexpr size_t kNpyPreamble = 12;
// NumPy itself refuses headers of more than 10 000 bytes.
inline constexpr uint64_t kMaxNpyHeader = 65'535;

// Where the data begins, from the file's first kNpyPreamble bytes: at most
// kNpyPreamble + kMaxNpyHeader. INVALID_ARGUMENT: not a .npy file.
absl::StatusOr<uint64_t> NpyDataOffset(absl::string_view preamble);
// `beginning` is the file up to its data, or more of it. INVALID_ARGUMENT: not
// a .npy file; truncated; a type that is not supported, a size that 64 bits
// cannot count.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view beginning);

// INVALID_ARGUMENT: as ParseNpyHeader; more or fewer bytes than the shape has;
// Fortran order.
absl::StatusOr<Array> ParseNpy(absl::string_view file);
// Version 1.0. The data begins at a multiple of 64 bytes.
std::string SerializeNpy(const Array& array);

// Messages begin with the path. Errors of the system or of ParseNpy.
absl::StatusOr<Array> ReadNpy(const std::string& path);
absl::Status WriteNpy(const std::string& path, const Array& array);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_NPY_H_
