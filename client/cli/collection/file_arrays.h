// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLLECTION_FILE_ARRAYS_H_
#define HOLDFAST_CLIENT_CLI_COLLECTION_FILE_ARRAYS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/files/zip_directory.h"
#include "client/files/zip_reader.h"

namespace holdfast::cli {

// An array for a collection, and the place of its bytes: in a file itself, or
// in the decompressed contents of an entry of a ZIP archive.
struct FileArray {
  ArraySpec spec;
  // Bytes.
  uint64_t offset = 0;
  uint64_t size = 0;
  std::optional<ZipEntry> entry;
};

struct FileArrays {
  std::vector<FileArray> arrays;
  std::map<std::string, std::string> metadata;
};

// Reads the headers of a file. The ending of the file's name determines the
// format:
//   .npy   one array, with the name of the file without the ending
//   .npz   arrays with the names of the entries without .npy
//   other  safetensors
// An array in Fortran order has strides. `fd` is borrowed. Messages name the
// array, not the file. INVALID_ARGUMENT, OUT_OF_RANGE: the file is malformed,
// or has an array that a collection cannot hold.
absl::StatusOr<FileArrays> ReadFileArrays(int fd, const std::string& path);

// Reads the bytes of an array, or of a part of it, in order.
class FileArrayReader {
 public:
  // Begins at byte `begin` of the array. `fd` and `array` must outlive the
  // reader. REQUIRES: `begin` is 0 for an array in an archive.
  FileArrayReader(int fd, const FileArray& array, uint64_t begin = 0);

  // Fills `piece` with the next bytes. REQUIRES: at least piece.size() bytes
  // are left.
  absl::Status Read(std::string& piece);
  // Call after the last byte. DATA_LOSS: the archive's checksum or size does
  // not match the bytes.
  absl::Status Finish();

 private:
  absl::Status SkipHeader();

  const int fd_;
  const FileArray& array_;
  // Used for arrays outside of archives.
  uint64_t done_;
  // Used for arrays in an archive: reads the entry from its beginning, with the
  // .npy header.
  std::optional<ZipReader> zip_;
  bool skipped_ = false;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_FILE_ARRAYS_H_
