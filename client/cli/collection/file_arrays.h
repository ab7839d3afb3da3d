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

// An array of a file that is to be in a collection, and where its bytes are: in
// the file, or in the contents of one of a ZIP archive's entries.
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

// Reads the headers of a file, whose format its name's ending tells:
//   .npy   one array, with the name of the file without the ending
//   .npz   arrays with the names of the entries without .npy
//   other  safetensors
// An array in Fortran order has strides. `fd` is borrowed. Messages name the
// array, not the file. INVALID_ARGUMENT, OUT_OF_RANGE: the file is not well
// formed, or has what a collection cannot hold.
absl::StatusOr<FileArrays> ReadFileArrays(int fd, const std::string& path);

// Reads the bytes of an array, or of a part of it, in their order.
class FileArrayReader {
 public:
  // Reads from byte `begin` of the array on. `fd` and `array` must outlive the
  // reader. REQUIRES: `begin` is 0 for an array in an archive.
  FileArrayReader(int fd, const FileArray& array, uint64_t begin = 0);

  // Fills `piece`. REQUIRES: so many bytes are left.
  absl::Status Read(std::string& piece);
  // To be called at the end: DATA_LOSS if the bytes were not what the archive
  // says.
  absl::Status Finish();

 private:
  absl::Status SkipHeader();

  const int fd_;
  const FileArray& array_;
  // For arrays that are not in an archive.
  uint64_t done_;
  // For those that are: the entry is read from its beginning, header and all.
  std::optional<ZipReader> zip_;
  bool skipped_ = false;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_FILE_ARRAYS_H_
