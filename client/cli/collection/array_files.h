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
#include "client/cpp/collection/collection.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/files/safetensors.h"
#include "core/base/unique_fd.h"

namespace holdfast::cli {

// Called with bytes done and bytes in all.
using CopyProgress = std::function<void(uint64_t done, uint64_t all)>;

// Safetensors files whose arrays are to become one collection.
class ArrayFiles {
 public:
  // Reads the headers. Messages name the file. ALREADY_EXISTS: two files have
  // an array of one name.
  static absl::StatusOr<ArrayFiles> Open(const std::vector<std::string>& paths);

  const std::vector<ArraySpec>& arrays() const { return arrays_; }
  // The metadata of all files; where several have a key, the last one's.
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }

  // Reads every array into its place of `writer`, which was made of arrays().
  absl::Status Upload(const CollectionWriter& writer, const Stream& stream,
                      const CopyProgress& progress) const;

 private:
  struct Source {
    size_t file = 0;
    uint64_t offset = 0;  // in the file
    uint64_t size = 0;
  };

  std::vector<std::string> paths_;
  std::vector<UniqueFd> files_;
  std::vector<Source> sources_;
  std::vector<ArraySpec> arrays_;
  std::map<std::string, std::string> metadata_;
};

// Writes a collection as one safetensors file, whole or not at all.
absl::Status SaveCollection(const Collection& collection, const Stream& stream,
                            const std::string& path,
                            const CopyProgress& progress);

// SHA-256 of each array's bytes, in hexadecimal digits, by name.
absl::StatusOr<std::map<std::string, std::string>> DigestArrays(
    const Collection& collection, const Stream& stream,
    const CopyProgress& progress);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_ARRAY_FILES_H_
