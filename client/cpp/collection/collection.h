// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_H_
#define HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/buffer.h"
#include "client/cpp/session.h"
#include "holdfast/v1/collection_commands.pb.h"

namespace holdfast {

// A version of a collection that a session has mapped, for reading. Nobody can
// change it, and its memory stays as long as this object, whatever becomes of
// its writer or of the collection.
class Collection {
 public:
  // 0: the latest. Waits. NOT_FOUND: no such collection or version, or not for
  // this client.
  static absl::StatusOr<Collection> Open(const Session& session,
                                         const std::string& name,
                                         uint64_t version = 0,
                                         uint32_t device = 0);

  const std::string& name() const { return name_; }
  uint64_t version() const { return version_; }
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }

  // By name: dtype, shape, size.
  const std::map<std::string, v1::ArrayDescription>& arrays() const {
    return arrays_;
  }
  // The memory of one array: a part, which ends with this object. NOT_FOUND.
  absl::StatusOr<Buffer> Array(const std::string& name) const;

  // The memory itself, in which arrays lie by ArrayDescription.buffer and
  // offset.
  const std::vector<Buffer>& buffers() const { return buffers_; }

 private:
  Collection() = default;

  std::string name_;
  uint64_t version_ = 0;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, v1::ArrayDescription> arrays_;
  std::vector<Buffer> buffers_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_H_
