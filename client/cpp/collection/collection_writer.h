// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_WRITER_H_
#define HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_WRITER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/buffer.h"
#include "client/cpp/collection/collection.h"
#include "client/cpp/session.h"

namespace holdfast {

namespace v1 {
class CommitCollection;
}  // namespace v1

// Memory for a new version of a collection. The memory is one piece, so that
// readers map it with one call. Fill the arrays by commands or uploads, and
// call Commit. Before the commit only this session sees the memory, and the
// destructor frees it.
class CollectionWriter {
 public:
  // The alignment of arrays, in bytes.
  static constexpr uint64_t kAlignment = 256;

  // Allocates the memory; the default device is the session's first.
  // INVALID_ARGUMENT: a name, dtype or shape is invalid, a name is not UTF-8,
  // or the descriptions have more bytes than a commit may have.
  // RESOURCE_EXHAUSTED: there is not enough memory.
  static absl::StatusOr<CollectionWriter> Create(
      const Session& session, const std::vector<ArraySpec>& arrays,
      std::optional<uint32_t> device = std::nullopt);

  // Adds an array of an existing version, without a copy. The collection must
  // live until the commit.
  absl::Status Adopt(const Collection& collection, const std::string& array);

  // The arrays in the order of Create, followed by the arrays of Adopt.
  const std::vector<CollectionArray>& arrays() const { return arrays_; }
  // The memory of all arrays.
  const Buffer& memory() const { return memory_; }
  // Returns the memory of one array, to be filled, as a part of memory(). Valid
  // as long as this object.
  absl::StatusOr<Buffer> Array(size_t index) const;

  // Checks the arguments of Commit before the arrays are filled.
  // INVALID_ARGUMENT: Commit would refuse the name, the size, or metadata that
  // is not UTF-8.
  absl::Status CheckCommit(
      const std::string& name,
      const std::map<std::string, std::string>& metadata = {}) const;

  // Waits for all streams, and makes the version. Returns the version's number.
  // The memory is read-only afterwards. See CommitCollection for the errors.
  absl::StatusOr<uint64_t> Commit(
      const std::string& name,
      const std::map<std::string, std::string>& metadata = {});

 private:
  CollectionWriter(const Session& session, Buffer memory)
      : session_(&session), memory_(std::move(memory)) {}

  v1::CommitCollection Contents(
      const std::string& name,
      const std::map<std::string, std::string>& metadata) const;

  const Session* session_;
  Buffer memory_;
  // Handles; the first is memory_.
  std::vector<uint64_t> buffers_;
  std::vector<CollectionArray> arrays_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_WRITER_H_
