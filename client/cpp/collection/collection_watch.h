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

// Reads the changes of collections one by one: first what there is, then each
// change. Goes on with the next daemon if this one is replaced: what there is
// then and was not told of comes as KIND_PRESENT, and versions that were told
// of and are gone come as KIND_DELETED, perhaps twice. Another thread may
// cancel.
class CollectionWatch {
 public:
  // `name`: one collection; empty: all that the client sees.
  CollectionWatch(std::shared_ptr<Daemon> daemon, const std::string& name);
  ~CollectionWatch();
  CollectionWatch(const CollectionWatch&) = delete;
  CollectionWatch& operator=(const CollectionWatch&) = delete;

  // Blocks until there is a change. CANCELLED: Cancel was called. UNAVAILABLE:
  // the daemon is gone, and no other has come for some seconds. One thread at a
  // time.
  absl::StatusOr<v1::CollectionChange> Next();

  // Ends Next, now and later. Thread-safe.
  void Cancel();

 private:
  // Owner and name.
  using Key = std::pair<std::string, std::string>;

  void Start();
  // A daemon that is there and ends every call is given up after so many.
  static constexpr int kMaxRestarts = 100;

  // Waits for the next daemon and starts again; does nothing if there is none.
  void Restart();
  bool cancelled() const {
    absl::MutexLock lock(&mutex_);
    return cancelled_;
  }
  // Reports what has gone while nobody was told.
  void NoteGone();
  // Returns false if it was told before.
  bool Note(const v1::CollectionChange& change);

  const std::shared_ptr<Daemon> daemon_;
  const std::string name_;
  std::unique_ptr<grpc::ClientReader<v1::CollectionChange>> reader_;
  // The present versions that the caller was told of.
  std::map<Key, std::set<uint64_t>> known_;
  // Versions that are gone, which the caller was not told of yet.
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
