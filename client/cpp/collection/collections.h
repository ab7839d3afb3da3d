// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTIONS_H_
#define HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTIONS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/session.h"

namespace grpc {
class ClientContext;
template <class R>
class ClientReader;
}  // namespace grpc

namespace holdfast {

namespace v1 {
class ClaimCollectionResponse;
class CollectionChange;
class ConfigureCollectionRequest;
class DescribeCollectionResponse;
class ListCollectionsResponse;
class ResumeCollectionResponse;
class SuspendCollectionResponse;
}  // namespace v1

// The collections of a daemon: named, versioned sets of arrays in device memory
// that outlive their writer. collections.proto describes the messages.
// Thread-safe.
class Collections {
 public:
  explicit Collections(std::shared_ptr<Daemon> daemon)
      : daemon_(std::move(daemon)) {}

  // Returns the collections that this client may see, ordered by owner and
  // name.
  absl::StatusOr<v1::ListCollectionsResponse> List();
  // Returns one version with its arrays; 0: the latest. NOT_FOUND: there is no
  // such version.
  absl::StatusOr<v1::DescribeCollectionResponse> Describe(
      const std::string& name, uint64_t version = 0);
  // Deletes one version; 0: all versions. Returns the number of deleted
  // versions. Sessions that have a version open keep its memory.
  absl::StatusOr<uint32_t> Delete(const std::string& name,
                                  uint64_t version = 0);
  // Sets who may open a collection, and which versions are kept. An error means
  // that nothing has changed. PERMISSION_DENIED: the caller is not the owner.
  // NOT_FOUND: a version to pin or unpin does not exist.
  absl::Status Configure(const v1::ConfigureCollectionRequest& request);

  struct SuspendOptions {
    uint64_t version = 0;  // 0: the latest
    // Suspends to the daemon's --suspend-directory; only for operators. False:
    // to host memory.
    bool on_disk = false;
  };
  // Moves a version without readers off its device. Blocks until the bytes are
  // moved, and returns their number. FAILED_PRECONDITION: the version has
  // readers, or is suspended already.
  absl::StatusOr<v1::SuspendCollectionResponse> Suspend(
      const std::string& name, const SuspendOptions& options);
  absl::StatusOr<v1::SuspendCollectionResponse> Suspend(
      const std::string& name);
  // Moves a suspended version back to its device, as the next session that
  // opens it does. Blocks until the bytes are moved, and returns their number.
  // FAILED_PRECONDITION: the version is not suspended. RESOURCE_EXHAUSTED: the
  // device has no room, and the version stays suspended.
  absl::StatusOr<v1::ResumeCollectionResponse> Resume(const std::string& name,
                                                      uint64_t version = 0);

  // Calls `changed` on this thread for each existing version and then for each
  // change, until `changed` returns false. Fails as CollectionWatch::Next does.
  absl::Status Watch(
      const std::string& name,
      const std::function<bool(const v1::CollectionChange&)>& changed);

 private:
  const std::shared_ptr<Daemon> daemon_;
};

// A session's claim to write a collection that does not exist yet: one session
// of several creates it, and the others then open it. The writer holds its
// claim until the commit; if the claim is destroyed earlier, the next session
// writes. A claim ends with its session at the latest. If the daemon is
// replaced, the writer stays the same until it commits or ends, and the others
// continue to wait.
//
//   auto claim = WriteClaim::Wait(*session, "weights");
//   if ((*claim)->writes()) { /* fill, commit */ }
//   auto weights = Collection::Open(*session, "weights");
class WriteClaim {
 public:
  // Blocks until the collection has a version, or this session must write it.
  static absl::StatusOr<std::unique_ptr<WriteClaim>> Wait(
      const Session& session, const std::string& name);
  ~WriteClaim();
  WriteClaim(const WriteClaim&) = delete;
  WriteClaim& operator=(const WriteClaim&) = delete;

  // True if this session must write and commit the collection.
  bool writes() const { return writes_; }

 private:
  WriteClaim(const Session& session, std::string name);

  // Sends the request, and blocks until the daemon answers.
  absl::Status Ask();

  const std::shared_ptr<Daemon> daemon_;
  const std::string token_;  // the session's
  const std::string name_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReader<v1::ClaimCollectionResponse>> reader_;
  bool writes_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTIONS_H_
