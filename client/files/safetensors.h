// SPDX-License-Identifier: Apache-2.0
//
// Files of named arrays in the safetensors format: 8 bytes (the header's
// length, little-endian), the header (JSON: each array's dtype, shape and
// place), then the arrays' bytes, one behind the other.
// github.com/huggingface/safetensors
//
// Headers are hostile input: one that lies about a place, a size or a shape is
// refused, by the array's name, before a byte of data is read or memory is
// taken for it.
#ifndef HOLDFAST_CLIENT_FILES_SAFETENSORS_H_
#define HOLDFAST_CLIENT_FILES_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// An array of a file.
struct StoredArray {
  std::string name;
  // "F32", "BF16", ...; one that core/base/array_layout knows.
  std::string dtype;
  // Elements; empty: a scalar.
  std::vector<uint64_t> shape;
  // Where its bytes begin, from the beginning of the data, and how many.
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct SafetensorsHeader {
  // By ascending offset; they fill the data without gaps or overlaps.
  std::vector<StoredArray> arrays;
  std::map<std::string, std::string> metadata;
  // Bytes of the data.
  uint64_t data_size = 0;
};

// A header as long as the format's own library takes.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr size_t kMaxStoredArrays = 1'000'000;

// Reads the JSON of a header whose file has `data_size` bytes behind it.
// INVALID_ARGUMENT: not JSON of this form, a name twice, a size that does not
//   match dtype and shape.
// OUT_OF_RANGE: an array beyond the data's end; gaps, overlaps; more arrays
// than
//   kMaxStoredArrays.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json,
                                                         uint64_t data_size);

// The beginning of a file with these arrays: length and JSON, padded to 8
// bytes. Sets the arrays' offsets, in their order. INVALID_ARGUMENT: text that
// is not UTF-8, a type that the format does not have (C128), or a size unlike
// dtype and shape.
absl::StatusOr<std::string> MakeSafetensorsHeader(
    std::vector<StoredArray>& arrays,
    const std::map<std::string, std::string>& metadata);

// An open file.
struct SafetensorsFile {
  SafetensorsHeader header;
  // Where the data begins in the file, in bytes.
  uint64_t data_offset = 0;
};

// `fd` is borrowed. As ParseSafetensorsHeader; messages do not name the file.
absl::StatusOr<SafetensorsFile> ReadSafetensors(int fd);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_FILES_SAFETENSORS_H_
