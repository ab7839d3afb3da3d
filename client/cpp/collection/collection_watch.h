// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_WATCH_H_
#define HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_WATCH_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/connection/daemon.h"

namespace grpc {
class ClientContext;
template <class R>
class ClientReader;
}  // namespace grpc

namespace holdfast {

namespace v1 {
class CollectionChange;
}  // namespace v1

// Reads the changes of collections one by one: first the existing versions,
// then each change. Continues with the next daemon if this one is replaced:
// versions that are new to the caller come as KIND_PRESENT, and reported
// versions that no longer exist come as KIND_DELETED. A deletion may come
// twice. Another thread may call Cancel.
class CollectionWatch {
 public:
  // `name` is one collection; empty: all collections that the client may see.
  CollectionWatch(std::shared_ptr<Daemon> daemon, const std::string& name);
  ~CollectionWatch();
  CollectionWatch(const CollectionWatch&) = delete;
  CollectionWatch& operator=(const CollectionWatch&) = delete;

  // Blocks until there is a change, and returns it. CANCELLED: Cancel was
  // called. UNAVAILABLE: the daemon has ended, and no other daemon has answered
  // for some seconds. REQUIRES: one thread at a time.
  absl::StatusOr<v1::CollectionChange> Next();

  // Makes the present and all later calls of Next return CANCELLED.
  // Thread-safe.
  void Cancel();

 private:
  // Owner and name.
  using Key = std::pair<std::string, std::string>;

  void Start();
  // The most restarts with a daemon that answers but ends every call.
  static constexpr int kMaxRestarts = 100;

  // Waits for the next daemon, and starts a new call; does nothing if there is
  // none.
  void Restart();
  bool cancelled() const {
    absl::MutexLock lock(&mutex_);
    return cancelled_;
  }
  // Reports versions that were deleted while there was no call.
  void NoteGone();
  // Notes a change. Returns false if it was reported to the caller before.
  bool Note(const v1::CollectionChange& change);

  const std::shared_ptr<Daemon> daemon_;
  const std::string name_;
  std::unique_ptr<grpc::ClientReader<v1::CollectionChange>> reader_;
  // The existing versions that were reported to the caller.
  std::map<Key, std::set<uint64_t>> known_;
  // The deleted versions whose deletion was not reported to the caller yet.
  std::deque<std::pair<Key, uint64_t>> gone_;
  int restarts_ = 0;  // since the last message
  // The status that the call ended with; every later Next returns it.
  absl::Status ended_;
  mutable absl::Mutex mutex_;
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_WATCH_H_
