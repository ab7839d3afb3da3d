// SPDX-License-Identifier: Apache-2.0
//
// Files of named arrays in the safetensors format: the header's length (8
// bytes, little-endian), the header (JSON: each array's dtype, shape and
// offsets), then the bytes of the arrays. github.com/huggingface/safetensors
//
// Headers are hostile input: a wrong offset, size or shape is refused, with the
// array's name, before any data is read or memory is allocated.
#ifndef HOLDFAST_CLIENT_FILES_SAFETENSORS_H_
#define HOLDFAST_CLIENT_FILES_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/collection_limits.h"

namespace holdfast {

// An array of a file.
struct StoredArray {
  std::string name;
  // The element type, "F32", "BF16", ...: a type of core/base/array_layout.
  std::string dtype;
  // The number of elements in each dimension; empty: a scalar.
  std::vector<uint64_t> shape;
  // The offset of the array's first byte in the data, and the number of bytes.
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct SafetensorsHeader {
  // The arrays by ascending offset; they fill the data without gaps or
  // overlaps.
  std::vector<StoredArray> arrays;
  std::map<std::string, std::string> metadata;
  // The number of bytes of all arrays.
  uint64_t data_size = 0;
};

// The limit of the format's own library for a header, in bytes.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;
// The bytes of the smallest description of an array in a collection: a name of
// one letter, a type of two letters, and a size or a dimension.
inline constexpr size_t kMinArrayDescription = 11;
// Files are read for collections, and no collection has more arrays than this.
// The reader refuses a file at the first array over the limit, without reading
// on.
inline constexpr size_t kMaxStoredArrays =
    kMaxCollectionDescription / kMinArrayDescription;

// Parses the JSON of a header; `data_size` bytes of data follow it in the file.
//  INVALID_ARGUMENT: not JSON of this form, a duplicate name, or a size that
//    does not match dtype and shape.
//  OUT_OF_RANGE: an array beyond the end of the data, gaps, overlaps, or more
//    than kMaxStoredArrays arrays.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json,
                                                         uint64_t data_size);

// Returns the beginning of a file with these arrays: length and JSON, padded to
// 8 bytes. Sets the arrays' offsets, in their order. INVALID_ARGUMENT: text
// that is not UTF-8, a type that the format lacks (C128), or a size that does
// not match dtype and shape.
absl::StatusOr<std::string> MakeSafetensorsHeader(
    std::vector<StoredArray>& arrays,
    const std::map<std::string, std::string>& metadata);

// An open file.
struct SafetensorsFile {
  SafetensorsHeader header;
  // The offset of the data in the file, in bytes.
  uint64_t data_offset = 0;
};

// Reads the header of an open file. `fd` is borrowed. Fails as
// ParseSafetensorsHeader; messages do not name the file.
absl::StatusOr<SafetensorsFile> ReadSafetensors(int fd);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_FILES_SAFETENSORS_H_
