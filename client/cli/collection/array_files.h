// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLLECTION_ARRAY_FILES_H_
#define HOLDFAST_CLIENT_CLI_COLLECTION_ARRAY_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/collection/file_arrays.h"
#include "client/cpp/collection/collection.h"
#include "client/cpp/collection/collection_writer.h"
#include "core/base/unique_fd.h"

namespace holdfast::cli {

// Called with the number of bytes that are done and the number of all bytes, by
// one thread at a time.
using CopyProgress = std::function<void(uint64_t done, uint64_t all)>;

// The files, in the formats safetensors, .npy and .npz, whose arrays make up
// one collection.
class ArrayFiles {
 public:
  // Reads the headers, as ReadFileArrays does. Messages name the file.
  // ALREADY_EXISTS: two arrays have the same name.
  static absl::StatusOr<ArrayFiles> Open(const std::vector<std::string>& paths);

  const std::vector<ArraySpec>& arrays() const { return arrays_; }
  // The metadata of all files. If several files have a key, the value of the
  // last file counts.
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }

  // Reads every array into its place in `writer`, which was made from arrays().
  // Several threads read and copy at once. DATA_LOSS: an archive's entry is
  // damaged.
  absl::Status Upload(const CollectionWriter& writer, const Stream& stream,
                      const CopyProgress& progress) const;

  // Compares every element with the collection's element. Returns a description
  // of the difference for each array, by name, that is unequal or is missing on
  // one side. Fails as Upload.
  absl::StatusOr<std::map<std::string, std::string>> Compare(
      const Collection& collection, const Stream& stream,
      const CopyProgress& progress) const;

 private:
  struct File {
    std::string path;
    UniqueFd fd;
    std::vector<FileArray> arrays;
  };
  // A range of the bytes of an array.
  struct Part {
    const File* file = nullptr;
    const FileArray* array = nullptr;
    size_t index = 0;  // of the array, in arrays_
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  uint64_t TotalBytes() const;
  // Divides all arrays into parts. An array in an archive is one part; any
  // other array has parts of at most `most` bytes.
  std::vector<Part> Parts(uint64_t most) const;
  // Returns the difference, or an empty text if there is none. Calls `compared`
  // with the bytes of each piece.
  static absl::StatusOr<std::string> Difference(
      const Part& whole, const Collection& collection, const Stream& stream,
      const std::function<void(uint64_t)>& compared);

  std::vector<File> files_;
  // The arrays of all files, in the files' order.
  std::vector<ArraySpec> arrays_;
  std::map<std::string, std::string> metadata_;
};

// Writes a collection as one safetensors file, which replaces a file at `path`.
// An error leaves `path` as it was. The format has no strides: elements are
// written in C order.
absl::Status SaveCollection(const Collection& collection, const Stream& stream,
                            const std::string& path,
                            const CopyProgress& progress);

// Returns the SHA-256 of each array's bytes, in hexadecimal digits, by the
// array's name.
absl::StatusOr<std::map<std::string, std::string>> DigestArrays(
    const Collection& collection, const Stream& stream,
    const CopyProgress& progress);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_ARRAY_FILES_H_
