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

// Called with bytes done and bytes in all, by one thread at a time.
using CopyProgress = std::function<void(uint64_t done, uint64_t all)>;

// Files whose arrays are to become one collection: safetensors, .npy, .npz.
class ArrayFiles {
 public:
  // Reads the headers, as ReadFileArrays does. Messages name the file.
  // ALREADY_EXISTS: two arrays have one name.
  static absl::StatusOr<ArrayFiles> Open(const std::vector<std::string>& paths);

  const std::vector<ArraySpec>& arrays() const { return arrays_; }
  // The metadata of all files; where several have a key, the last one's.
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }

  // Reads every array into its place of `writer`, which was made of arrays().
  // Several threads read, while the device copies for others. DATA_LOSS: an
  // archive's entry is damaged.
  absl::Status Upload(const CollectionWriter& writer, const Stream& stream,
                      const CopyProgress& progress) const;

  // Compares every element with the collection's. Returns how arrays of either
  // side differ, by name; those that are equal are left out. Errors as Upload.
  absl::StatusOr<std::map<std::string, std::string>> Compare(
      const Collection& collection, const Stream& stream,
      const CopyProgress& progress) const;

 private:
  struct File {
    std::string path;
    UniqueFd fd;
    std::vector<FileArray> arrays;
  };
  // The bytes of an array, or some of them.
  struct Part {
    const File* file = nullptr;
    const FileArray* array = nullptr;
    size_t index = 0;  // of the array, in arrays_
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  uint64_t TotalBytes() const;
  // All bytes of all arrays. An array that is not in an archive has parts of at
  // most `most` bytes.
  std::vector<Part> Parts(uint64_t most) const;
  // Empty: none. `compared` is told of bytes.
  static absl::StatusOr<std::string> Difference(
      const Part& whole, const Collection& collection, const Stream& stream,
      const std::function<void(uint64_t)>& compared);

  std::vector<File> files_;
  // Those of the files, one after the other.
  std::vector<ArraySpec> arrays_;
  std::map<std::string, std::string> metadata_;
};

// Writes a collection as one safetensors file, whole or not at all. The format
// has no strides: elements are written in C order.
absl::Status SaveCollection(const Collection& collection, const Stream& stream,
                            const std::string& path,
                            const CopyProgress& progress);

// SHA-256 of each array's bytes, in hexadecimal digits, by name.
absl::StatusOr<std::map<std::string, std::string>> DigestArrays(
    const Collection& collection, const Stream& stream,
    const CopyProgress& progress);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_ARRAY_FILES_H_
