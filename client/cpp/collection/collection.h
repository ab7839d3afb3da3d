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

// The description of an array of a collection.
struct ArraySpec {
  std::string name;
  std::string dtype;            // "F32", "BF16", ...
  std::vector<uint64_t> shape;  // elements; empty: a scalar
  // The stride of each dimension, in elements, not negative. Empty: C order.
  std::vector<int64_t> strides;

  bool operator==(const ArraySpec&) const = default;
};

// An array of a collection's version.
struct CollectionArray : ArraySpec {
  // The index of the version's buffer, and the offset there in bytes.
  uint32_t buffer = 0;
  uint64_t offset = 0;
  // Bytes, from the first element to the end of the last.
  uint64_t size = 0;

  bool operator==(const CollectionArray&) const = default;
};

// A version of a collection that a session has mapped for reading. It never
// changes. The memory stays while this object is awake, even if the session
// that wrote the version ends, or the collection is deleted.
//
// Thread-compatible: several threads may read it at once, but not during Sleep
// or Wake.
class Collection {
 public:
  // Opens a version; 0: the latest. The default device is the session's first.
  // Waits. NOT_FOUND: there is no such collection or version, or this client
  // may not see it.
  static absl::StatusOr<Collection> Open(
      const Session& session, const std::string& name, uint64_t version = 0,
      std::optional<uint32_t> device = std::nullopt);

  const std::string& name() const { return name_; }
  uint64_t version() const { return version_; }
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }

  // The arrays by their names.
  const std::map<std::string, CollectionArray>& arrays() const {
    return arrays_;
  }
  // Returns the memory of one array, as a part of a buffer of buffers(). Valid
  // as long as this object. NOT_FOUND: there is no such array.
  absl::StatusOr<Buffer> Array(const std::string& name) const;

  // The memory of all arrays; see CollectionArray's buffer and offset.
  const std::vector<Buffer>& buffers() const { return buffers_; }

  // Unmaps the memory, and keeps the addresses and the buffers. The session is
  // then not a reader of the version, which the daemon may retire. Until Wake,
  // commands that use the memory fail, and kernels of graphs that use it fault.
  // Does nothing if this object sleeps already. Waits. FAILED_PRECONDITION: a
  // stream of the session is not idle.
  absl::Status Sleep();

  // The version that Sleep has unmapped.
  static constexpr uint64_t kSame = UINT64_MAX;
  // Maps a version again: kSame, or another version (0: the latest). Returns
  // the names of the arrays that have another place or type, or are not in the
  // version any more. Pointers to all other arrays, and their buffers, are
  // valid again. If the version's buffers have other sizes, returns all names.
  // Waits. NOT_FOUND: there is no such version any more; this object still
  // sleeps. FAILED_PRECONDITION: this object is awake.
  absl::StatusOr<std::vector<std::string>> Wake(uint64_t version = kSame);
  bool asleep() const { return asleep_; }

 private:
  Collection() = default;
  static absl::StatusOr<Collection> Describe(std::shared_ptr<Daemon> daemon,
                                             const Device& device,
                                             const std::string& name,
                                             uint64_t version,
                                             std::vector<uint64_t>* sizes);
  // Maps the version whose buffers have these sizes.
  absl::Status OpenBuffers(const std::vector<uint64_t>& sizes);
  // Maps the version at the addresses of `sleeping`.
  absl::Status WakeBuffers(Collection& sleeping,
                           const std::vector<uint64_t>& sizes);

  std::shared_ptr<Daemon> daemon_;
  std::optional<Device> device_;
  bool asleep_ = false;
  std::string name_;
  uint64_t version_ = 0;
  // The time and session of the commit. They distinguish versions with equal
  // numbers, because a collection that was deleted and made again counts its
  // versions from 1.
  std::string origin_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, CollectionArray> arrays_;
  std::vector<Buffer> buffers_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_H_
