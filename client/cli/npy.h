// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files: versions 1.0, 2.0 and 3.0, little-endian basic types
// (element_type.h). Files are hostile input: a malformed file yields an error.
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

// An array in memory, in C order.
struct Array {
  ElementType type = ElementType::kF32;
  // Empty: a single element.
  std::vector<uint64_t> shape;
  // The elements, row by row.
  std::string bytes;
};

// Returns the bytes of an array. INVALID_ARGUMENT: 64 bits cannot hold the
// number.
absl::StatusOr<uint64_t> ByteSize(ElementType type,
                                  const std::vector<uint64_t>& shape);
// Returns "f32[10,20]".
std::string Describe(ElementType type, const std::vector<uint64_t>& shape);

// The header of a file. Made by ParseNpyHeader.
struct NpyHeader {
  ElementType type = ElementType::kF32;
  // The elements are stored column by column, not row by row.
  bool fortran_order = false;
  std::vector<uint64_t> shape;
  // The offset of the data in the file, and its size; both in bytes.
  uint64_t data_offset = 0;
  uint64_t data_size = 0;
};

// The number of bytes at the beginning of a file that determine the offset of
// its data. A shorter file is not a .npy file.
inline constexpr size_t kNpyPreamble = 12;
// NumPy itself refuses headers of more than 10 000 bytes.
inline constexpr uint64_t kMaxNpyHeader = 65'535;

// Returns the offset of the data, by the file's first kNpyPreamble bytes. It is
// at most kNpyPreamble + kMaxNpyHeader. INVALID_ARGUMENT: not a .npy file.
absl::StatusOr<uint64_t> NpyDataOffset(absl::string_view preamble);
// Parses the header. `beginning` is the file up to its data, or more of it.
// INVALID_ARGUMENT: this is not a .npy file, its header is truncated, its type
// is not supported, or its size does not fit in 64 bits.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view beginning);

// Parses a whole file. INVALID_ARGUMENT: as ParseNpyHeader; also, the file has
// more or fewer bytes than the shape needs, or Fortran order.
absl::StatusOr<Array> ParseNpy(absl::string_view file);
// Returns the array as a file of version 1.0. The data begins at a multiple of
// 64 bytes.
std::string SerializeNpy(const Array& array);

// Read and write a file. Fail with the system's error or as ParseNpy does;
// messages begin with the path.
absl::StatusOr<Array> ReadNpy(const std::string& path);
absl::Status WriteNpy(const std::string& path, const Array& array);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_NPY_H_
