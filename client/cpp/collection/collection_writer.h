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

// Memory for a new version of a collection, all in one piece, so that readers
// map it at once. Fill the arrays by any command or upload, then commit. Before
// that nobody else sees any of it, and it goes with this object.
class CollectionWriter {
 public:
  // Bytes; what arrays are aligned to.
  static constexpr uint64_t kAlignment = 256;

  // INVALID_ARGUMENT: a name, dtype or shape that cannot be, a name that is not
  // UTF-8, or descriptions of more bytes than a commit may have.
  // RESOURCE_EXHAUSTED: no memory for them. No device: the session's first.
  static absl::StatusOr<CollectionWriter> Create(
      const Session& session, const std::vector<ArraySpec>& arrays,
      std::optional<uint32_t> device = std::nullopt);

  // Adds an array of a version that is there, without a copy. The collection is
  // needed until the commit.
  absl::Status Adopt(const Collection& collection, const std::string& array);

  // In the order of Create; Adopt's behind them.
  const std::vector<CollectionArray>& arrays() const { return arrays_; }
  // All of it.
  const Buffer& memory() const { return memory_; }
  // The memory of one array that is to be filled: a part, which ends with this
  // object.
  absl::StatusOr<Buffer> Array(size_t index) const;

  // INVALID_ARGUMENT: Commit would refuse this, for its name, for its size, or
  // for metadata that is not UTF-8. For those who want to know before they fill
  // the arrays.
  absl::Status CheckCommit(
      const std::string& name,
      const std::map<std::string, std::string>& metadata = {}) const;

  // Waits for all streams and makes the version; returns its number. From then
  // on nobody can write to the memory. See CommitCollection.
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
  // Handles; the first is the memory's.
  std::vector<uint64_t> buffers_;
  std::vector<CollectionArray> arrays_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_WRITER_H_
