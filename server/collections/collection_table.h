// SPDX-License-Identifier: Apache-2.0
//
// All collections of the daemon. A collection belongs to the client that has
// committed it, so two clients may use the same name. A lookup by name finds
// the client's own collection, or else the only collection of this name that
// the client may see. A lookup by "OWNER:NAME" names the owner, too.
//
// Threads: any thread. Locks: mutex_ guards everything. It is held during the
// callbacks of watchers and claims, so these must not call the table. It is not
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

// Thread-safe. Must outlive each OpenVersion that it returns.
class CollectionTable {
 public:
  // The most collections of a client, and the most versions of a collection.
  static constexpr size_t kMaxOfClient = 1024;
  static constexpr size_t kMaxVersions = 1024;
  // The most bytes of descriptions of all versions of a client.
  static constexpr size_t kMaxDescriptions = size_t{64} << 20;

  using Viewer = collections::Viewer;

  // The terms of a commit. `charges` pay for the buffers' chunks, and the
  // version holds them. `visibility` applies if the collection is new.
  struct Terms {
    std::vector<std::shared_ptr<const Charge>> charges;
    v1::Visibility visibility;
  };
  // Makes the table record all collections, versions and writers in `store`
  // for the next daemon. REQUIRES: there is no collection yet, and the store
  // outlives the table.
  void KeepIn(DescriptorStore* store) { store_ = store; }
  // Adopt a record of an earlier daemon: of a collection, of a version, or of
  // the session that may write a collection's first version. A version whose
  // collection was not adopted before is ignored.
  void Adopt(const internal::CollectionRecord& record);
  void Adopt(const internal::VersionRecord& record,
             std::vector<SharedResource> buffers,
             std::vector<std::shared_ptr<const Charge>> charges);
  void Adopt(const internal::ClaimRecord& record);

  // Commits a version for `client`; see CommitCollection. `buffers` are the
  // buffers that the contents name, in the same order. Fails as CheckContents.
  // FAILED_PRECONDITION: another session has claimed the collection.
  // RESOURCE_EXHAUSTED: too many collections, versions or bytes of descriptions
  // of this client.
  absl::StatusOr<v1::CollectionVersion> Commit(
      const std::string& client, const std::string& session,
      v1::CommitCollection contents, std::vector<SharedResource> buffers,
      Terms terms);

  // Opens a version for `session` until the result is destroyed; `version` 0 is
  // the latest. NOT_FOUND: the client can see no such collection, or there is
  // no such version. FAILED_PRECONDITION: several clients have a collection of
  // this name.
  absl::StatusOr<std::shared_ptr<const OpenVersion>> Open(
      const std::string& client, const std::string& session,
      const std::string& name, uint64_t version);

  // Carry out the calls of CollectionService. Describe fails as Open. Delete
  // and Configure fail also with PERMISSION_DENIED if the collection belongs to
  // another client. Delete returns the number of deleted versions.
  v1::ListCollectionsResponse List(const Viewer& viewer) const;
  absl::StatusOr<v1::DescribeCollectionResponse> Describe(
      const Viewer& viewer, const v1::DescribeCollectionRequest& request) const;
  absl::StatusOr<uint32_t> Delete(const Viewer& viewer,
                                  const v1::DeleteCollectionRequest& request);
  absl::Status Configure(const Viewer& viewer,
                         const v1::ConfigureCollectionRequest& request);

  // A move of a version's memory off its device or back. CollectionSuspension
  // makes one move at a time, and ends each move that it has begun with Finish
  // or Cancel.
  using Move = VersionMove;
  // Begins a suspension. The result lists the chunks to move: those that no
  // version on a device needs. FAILED_PRECONDITION: the version is suspended or
  // has readers, or its memory is or may be mapped elsewhere.
  // PERMISSION_DENIED: the collection belongs to another client. NOT_FOUND:
  // there is no such version.
  absl::StatusOr<Move> BeginSuspension(const Viewer& viewer,
                                       const std::string& name,
                                       uint64_t version);
  // Returns the error that BeginSuspension would return now, for a call that
  // will wait for its turn. Accepts a version that is being moved.
  absl::Status CheckSuspension(const Viewer& viewer, const std::string& name,
                               uint64_t version);
  // The new places of the chunks, in the order of Move::chunks. Finish
  // exchanges each for the chunk's old place. The caller then destroys the old
  // places, without the table's lock, because that may take seconds.
  using Places = VersionMove::Places;
  // Ends a suspension. After an error the version stays on its device, and the
  // move has ended. ABORTED: a reader has opened the version meanwhile, or
  // another version needs the memory. NOT_FOUND: the version was deleted or
  // retired.
  absl::Status FinishSuspension(const Move& move, Places* places);

  // Returns true if a reader of this version must wait for its memory.
  bool NeedsResume(const OpenVersion& opened) const;
  // Begins a resumption. FAILED_PRECONDITION: the version is not suspended.
  // Otherwise fails as BeginSuspension.
  absl::StatusOr<Move> BeginResumption(const Viewer& viewer,
                                       const std::string& name,
                                       uint64_t version);
  // Returns the error that BeginResumption would return now. Accepts a version
  // that is being moved.
  absl::Status CheckResumption(const Viewer& viewer, const std::string& name,
                               uint64_t version);
  // Begins a resumption for a reader. REQUIRES: NeedsResume(opened).
  Move BeginResumption(const OpenVersion& opened);
  // Ends a resumption; exchanges `places` as FinishSuspension does.
  void FinishResumption(const Move& move, Places* places);

  // Ends a move that has failed: the version is as before the move.
  void CancelMove(const Move& move);

  // Deletes all collections of a client that has ended.
  void DeleteAllOf(const std::string& client);
  // Returns the bytes of the chunks of each client's versions. A chunk of
  // several versions of a client counts once.
  std::map<std::string, uint64_t> BytesByClient() const;

  // Claims the right to write a collection's first version for a session.
  // `answer` is called at once or later, under the table's lock, and must not
  // call the table. Returns a number for Unclaim. If the collection has a
  // version already, calls `answer` with the latest version and returns 0.
  // RESOURCE_EXHAUSTED: too many claims wait. INVALID_ARGUMENT: a bad name.
  using ClaimAnswer = WriteClaims::Answer;
  absl::StatusOr<int64_t> Claim(const std::string& client,
                                const std::string& session,
                                const std::string& name, ClaimAnswer answer);
  // Removes a claim without an answer; its `answer` is not called any more. If
  // the claim was the writer's, the next session may write.
  void Unclaim(int64_t claim);
  // Removes the claims of a session that has ended, and answers them with
  // CANCELLED. Where it was the writer, the next session may write.
  void EndSession(const std::string& session);

  using Changes = CollectionWatchers::Changes;
  using Told = CollectionWatchers::Told;
  // Watches the collection `name`, or all if `name` is empty. Calls `told` with
  // the latest version of each collection that the viewer may see, if there is
  // any, and then with each change. `told` is called under the table's lock,
  // and must not call the table. Returns a number for Unwatch.
  int64_t Watch(const Viewer& viewer, const std::string& name, Told told);
  // Ends the calls of `told`.
  void Unwatch(int64_t watcher);

 private:
  // Owner and name.
  using Key = Collections::key_type;

  absl::StatusOr<Collections::const_iterator> Find(
      const Viewer& viewer, const std::string& name) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Like Find. PERMISSION_DENIED: the viewer is not the collection's owner, and
  // does not see all collections.
  absl::StatusOr<Collections::iterator> FindOwn(const Viewer& viewer,
                                                const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the client's collections whose versions are all retired and not
  // held by any object.
  void RemoveGone(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MayCommit(const Key& key, size_t description_bytes) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // A version that FindOwn allows, and its collection.
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
  // Retires a version that has lost its last reader if its collection is
  // configured so.
  void NoteUnused(const Key& key, uint64_t version);
  Collection::Unused UnusedOf(const Key& key) {
    return [this, key](uint64_t version) { NoteUnused(key, version); };
  }
  // Records the collection's present state for the next daemon.
  void Keep(Collection& collection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepVersion(Collection& collection, uint64_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records, for the next daemon, the session that may write the collection's
  // first version, or removes the record if there is none.
  void KeepWriter(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  DescriptorStore* store_ = nullptr;  // null: nothing is recorded
  mutable absl::Mutex mutex_;
  // The number of the last record.
  uint64_t last_kept_ ABSL_GUARDED_BY(mutex_) = 0;
  // A session that may write, and its record for the next daemon.
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
