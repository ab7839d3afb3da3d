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
// that outlive their writer. collections.proto tells what each message means.
// Thread-safe.
class Collections {
 public:
  explicit Collections(std::shared_ptr<Daemon> daemon)
      : daemon_(std::move(daemon)) {}

  // Those that this client may see, by name.
  absl::StatusOr<v1::ListCollectionsResponse> List();
  // One version with its arrays; 0: the latest. NOT_FOUND.
  absl::StatusOr<v1::DescribeCollectionResponse> Describe(
      const std::string& name, uint64_t version = 0);
  // One version, or with 0 all; returns how many there were. Sessions that have
  // it open keep its memory.
  absl::StatusOr<uint32_t> Delete(const std::string& name,
                                  uint64_t version = 0);
  absl::Status Configure(const v1::ConfigureCollectionRequest& request);

  struct SuspendOptions {
    uint64_t version = 0;  // 0: the latest
    // To the daemon's --suspend-directory, for operators; false: to host
    // memory.
    bool on_disk = false;
  };
  // Takes a version that nobody has open off its device. The next session that
  // opens it, or Resume, brings it back. Both calls block until the bytes are
  // moved, and tell how many. FAILED_PRECONDITION: it has readers, or is
  // suspended already.
  absl::StatusOr<v1::SuspendCollectionResponse> Suspend(
      const std::string& name, const SuspendOptions& options);
  absl::StatusOr<v1::SuspendCollectionResponse> Suspend(
      const std::string& name);
  // RESOURCE_EXHAUSTED: the device has no room; it stays suspended.
  absl::StatusOr<v1::ResumeCollectionResponse> Resume(const std::string& name,
                                                      uint64_t version = 0);

  // Calls `changed` for what there is and then for each change, until it
  // returns false, as CollectionWatch. Waits.
  absl::Status Watch(
      const std::string& name,
      const std::function<bool(const v1::CollectionChange&)>& changed);

 private:
  const std::shared_ptr<Daemon> daemon_;
};

// "Create it if it is not there, else open it", for one session. Held until the
// commit by the one that is to write; destroyed earlier, the next one writes.
// It ends with its session at the latest. If the daemon is replaced, the
// session that was to write still is, until it commits or ends, and those that
// wait go on waiting.
//
//   auto claim = WriteClaim::Wait(*session, "weights");
//   if ((*claim)->writes()) { ... fill, commit ... }
//   auto weights = Collection::Open(*session, "weights");
class WriteClaim {
 public:
  // Returns when the collection has a version, or this session is to write it.
  static absl::StatusOr<std::unique_ptr<WriteClaim>> Wait(
      const Session& session, const std::string& name);
  ~WriteClaim();
  WriteClaim(const WriteClaim&) = delete;
  WriteClaim& operator=(const WriteClaim&) = delete;

  // True: nobody has committed it; this session is to.
  bool writes() const { return writes_; }

 private:
  WriteClaim(const Session& session, std::string name);

  // Blocks until the daemon answers.
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
