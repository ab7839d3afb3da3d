// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_H_
#define HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/buffer.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/device.h"
#include "client/cpp/session.h"

namespace holdfast {

// An array that is to be in a collection.
struct ArraySpec {
  std::string name;
  std::string dtype;            // "F32", "BF16", ...
  std::vector<uint64_t> shape;  // elements; empty: a scalar
  // Elements from one to the next of each dimension, not below 0; empty: C
  // order.
  std::vector<int64_t> strides;

  bool operator==(const ArraySpec&) const = default;
};

// An array of a version.
struct CollectionArray : ArraySpec {
  // Which of the version's buffers has it, and where in the buffer, in bytes.
  uint32_t buffer = 0;
  uint64_t offset = 0;
  // Bytes, from the first element to the end of the last.
  uint64_t size = 0;

  bool operator==(const CollectionArray&) const = default;
};

// A version of a collection that a session has mapped, for reading. Nobody can
// change it, and its memory stays as long as this object is awake, whatever
// becomes of its writer or of the collection.
//
// Several threads may read it at once; Sleep and Wake change it, and need it to
// themselves.
class Collection {
 public:
  // Version 0: the latest; no device: the session's first. Waits. NOT_FOUND: no
  // such collection or version, or not for this client.
  static absl::StatusOr<Collection> Open(
      const Session& session, const std::string& name, uint64_t version = 0,
      std::optional<uint32_t> device = std::nullopt);

  const std::string& name() const { return name_; }
  uint64_t version() const { return version_; }
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }

  // By name.
  const std::map<std::string, CollectionArray>& arrays() const {
    return arrays_;
  }
  // The memory of one array: a part, which ends with this object. NOT_FOUND.
  absl::StatusOr<Buffer> Array(const std::string& name) const;

  // The memory itself, in which arrays lie by CollectionArray's buffer and
  // offset.
  const std::vector<Buffer>& buffers() const { return buffers_; }

  // Unmaps the memory and keeps its addresses and the buffers: this session is
  // no reader any more, and the version may go. Commands that use it fail, and
  // kernels of graphs that do fault, until Wake. OK if it sleeps already.
  // Waits. FAILED_PRECONDITION: a stream of the session is not idle.
  absl::Status Sleep();

  // The version that Sleep has unmapped.
  static constexpr uint64_t kSame = UINT64_MAX;
  // Maps a version again, kSame or another one (0: the latest), and returns the
  // names of the arrays that have moved: those that are not where they were
  // with the same type, or not there any more. Pointers to and buffers of all
  // others are good again. If the version's buffers have other sizes, all is
  // mapped anew and has moved. Waits. NOT_FOUND: no such version any more; it
  // still sleeps. FAILED_PRECONDITION: it is awake.
  absl::StatusOr<std::vector<std::string>> Wake(uint64_t version = kSame);
  bool asleep() const { return asleep_; }

 private:
  Collection() = default;
  static absl::StatusOr<Collection> Describe(std::shared_ptr<Daemon> daemon,
                                             const Device& device,
                                             const std::string& name,
                                             uint64_t version,
                                             std::vector<uint64_t>* sizes);
  // Maps the version that `sizes` are of.
  absl::Status OpenBuffers(const std::vector<uint64_t>& sizes);
  // Maps it where `sleeping` was.
  absl::Status WakeBuffers(Collection& sleeping,
                           const std::vector<uint64_t>& sizes);

  std::shared_ptr<Daemon> daemon_;
  std::optional<Device> device_;
  bool asleep_ = false;
  std::string name_;
  uint64_t version_ = 0;
  // When and by whom it was committed: a collection that was deleted and made
  // anew counts its versions from 1 again.
  std::string origin_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, CollectionArray> arrays_;
  std::vector<Buffer> buffers_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_H_
