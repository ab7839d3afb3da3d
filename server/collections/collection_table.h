// SPDX-License-Identifier: Apache-2.0
//
// All collections of the daemon. A name belongs to the client that committed
// it, so two clients may use the same name. A lookup finds the client's own
// collection; else the only collection of this name that the client may see.
// "OWNER:NAME" names the owner, too.
//
// Threads: any thread. Locks: mutex_ guards everything. It is held while
// watchers and claimants are told, which must not call the table. It is not
// held while bytes are moved.
#ifndef HOLDFAST_SERVER_COLLECTIONS_COLLECTION_TABLE_H_
#define HOLDFAST_SERVER_COLLECTIONS_COLLECTION_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/v1/collections.pb.h"
#include "server/collections/collection.h"
#include "server/collections/collection_version.h"
#include "server/collections/collection_watchers.h"
#include "server/collections/version_move.h"
#include "server/collections/write_claims.h"
#include "server/sharing/shared_chunk.h"

namespace holdfast::collections {

// Thread-safe.
class CollectionTable {
 public:
  static constexpr size_t kMaxOfClient = 1024;
  static constexpr size_t kMaxVersions = 1024;
  // The most bytes of descriptions of all versions of a client.
  static constexpr size_t kMaxDescriptions = size_t{64} << 20;

  using Viewer = collections::Viewer;

  // The terms of a commit. `charges` are for the buffers' chunks and end with
  // the version; `visibility` is for a new collection.
  struct Terms {
    std::vector<std::shared_ptr<const Charge>> charges;
    v1::Visibility visibility;
  };
  // Keeps later versions and collections for the next daemon. REQUIRES: there
  // is no collection yet, and the store outlives the table.
  void KeepIn(DescriptorStore* store) { store_ = store; }
  // Adopt an earlier daemon's state: a collection, then its versions; and the
  // sessions that were told to write a collection.
  void Adopt(const internal::CollectionRecord& record);
  void Adopt(const internal::VersionRecord& record,
             std::vector<SharedResource> buffers,
             std::vector<std::shared_ptr<const Charge>> charges);
  void Adopt(const internal::ClaimRecord& record);

  // Commits a version; see CommitCollection. `buffers` are those of the
  // contents. RESOURCE_EXHAUSTED: too many collections, versions or bytes of
  // descriptions of this client.
  absl::StatusOr<v1::CollectionVersion> Commit(
      const std::string& client, const std::string& session,
      v1::CommitCollection contents, std::vector<SharedResource> buffers,
      Terms terms);

  // Opens a version for `session` until the result is destroyed. REQUIRES: the
  // table outlives the result.
  absl::StatusOr<std::shared_ptr<const OpenVersion>> Open(
      const std::string& client, const std::string& session,
      const std::string& name, uint64_t version);

  v1::ListCollectionsResponse List(const Viewer& viewer) const;
  absl::StatusOr<v1::DescribeCollectionResponse> Describe(
      const Viewer& viewer, const v1::DescribeCollectionRequest& request) const;
  absl::StatusOr<uint32_t> Delete(const Viewer& viewer,
                                  const v1::DeleteCollectionRequest& request);
  absl::Status Configure(const Viewer& viewer,
                         const v1::ConfigureCollectionRequest& request);

  // A move of a version's memory off its device or back, for
  // CollectionSuspension, which makes one at a time. Each Begin is followed by
  // Finish or Cancel.
  using Move = VersionMove;
  // Begins a suspension; the result has the chunks that then only suspended
  // versions hold. FAILED_PRECONDITION: the version is suspended, has readers,
  // or its memory is or may be mapped elsewhere. PERMISSION_DENIED, NOT_FOUND.
  absl::StatusOr<Move> BeginSuspension(const Viewer& viewer,
                                       const std::string& name,
                                       uint64_t version);
  // Returns the error that BeginSuspension would return now, for a call that
  // waits for its turn. A version that is being moved is accepted.
  absl::Status CheckSuspension(const Viewer& viewer, const std::string& name,
                               uint64_t version);
  // Finish exchanges each place for the old place of its chunk, which the
  // caller destroys without the table's lock: that may take seconds.
  using Places = VersionMove::Places;
  // ABORTED: a reader has opened the version meanwhile, so it stays on its
  // device.
  absl::Status FinishSuspension(const Move& move, Places* places);

  // True if a reader of this version must wait for its memory.
  bool NeedsResume(const OpenVersion& opened) const;
  // Begins a resumption. FAILED_PRECONDITION: the version is not suspended.
  // PERMISSION_DENIED, NOT_FOUND.
  absl::StatusOr<Move> BeginResumption(const Viewer& viewer,
                                       const std::string& name,
                                       uint64_t version);
  absl::Status CheckResumption(const Viewer& viewer, const std::string& name,
                               uint64_t version);
  // The same for a reader. REQUIRES: NeedsResume.
  Move BeginResumption(const OpenVersion& opened);
  void FinishResumption(const Move& move, Places* places);

  void CancelMove(const Move& move);

  // Deletes all collections of a client that has ended.
  void DeleteAllOf(const std::string& client);
  // Returns the bytes of the versions of all collections, by client.
  std::map<std::string, uint64_t> BytesByClient() const;

  // Claims a collection for a session; `answer` is called at once or later,
  // under the table's lock, and must not call the table. Returns a number for
  // Unclaim; 0 if the collection has a version already, which is the answer.
  // RESOURCE_EXHAUSTED: too many claims wait. INVALID_ARGUMENT: a bad name.
  using ClaimAnswer = WriteClaims::Answer;
  absl::StatusOr<int64_t> Claim(const std::string& client,
                                const std::string& session,
                                const std::string& name, ClaimAnswer answer);
  // Drops a claim; its answer is not called any more.
  void Unclaim(int64_t claim);
  // Drops the claims of a session that has ended; other sessions get their turn
  // to write.
  void EndSession(const std::string& session);

  // Watch calls `told` with all existing versions, then with each change that
  // `viewer` may see, under the table's lock like ClaimAnswer.
  using Changes = CollectionWatchers::Changes;
  using Told = CollectionWatchers::Told;
  // Returns a number for Unwatch.
  int64_t Watch(const Viewer& viewer, const std::string& name, Told told);
  void Unwatch(int64_t watcher);

 private:
  // Owner and name.
  using Key = Collections::key_type;

  absl::StatusOr<Collections::const_iterator> Find(
      const Viewer& viewer, const std::string& name) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The same, only for its owner or a viewer that sees all.
  absl::StatusOr<Collections::iterator> FindOwn(const Viewer& viewer,
                                                const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes collections that were deleted and have no readers any more.
  void RemoveGone(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MayCommit(const Key& key, size_t description_bytes) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // A version of the viewer's own, and its collection.
  struct OwnVersion {
    Collection& collection;
    std::shared_ptr<const CollectionVersion> version;
  };
  absl::StatusOr<OwnVersion> FindOwnVersion(const Viewer& viewer,
                                            const std::string& name,
                                            uint64_t version)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Move StartMove(Collection& collection,
                 std::shared_ptr<const CollectionVersion> version,
                 Collection::Memory memory)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndMove(const Move& move, Collection::Memory memory)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static Key KeyOf(const CollectionVersion& version) {
    return {version.client, version.contents.name()};
  }
  // Called when a version has lost its last reader, which may retire it.
  void NoteUnused(const Key& key, uint64_t version);
  Collection::Unused UnusedOf(const Key& key) {
    return [this, key](uint64_t version) { NoteUnused(key, version); };
  }
  // Records the collection's present state for the next daemon.
  void Keep(Collection& collection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepVersion(Collection& collection, uint64_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records, for the next daemon, which session was told to write the
  // collection.
  void KeepWriter(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  DescriptorStore* store_ = nullptr;  // null: nothing is kept
  mutable absl::Mutex mutex_;
  uint64_t last_kept_ ABSL_GUARDED_BY(mutex_) = 0;  // numbers of records
  // A session that was told to write, recorded for the next daemon.
  struct KeptWriter {
    std::string session;
    DescriptorStore::Kept record;
  };
  std::map<Key, KeptWriter> writers_ ABSL_GUARDED_BY(mutex_);
  Collections collections_ ABSL_GUARDED_BY(mutex_);
  WriteClaims claims_ ABSL_GUARDED_BY(mutex_);
  CollectionWatchers watchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_TABLE_H_
