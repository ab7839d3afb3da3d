// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COLLECTIONS_COLLECTION_TABLE_H_
#define HOLDFAST_SERVER_COLLECTIONS_COLLECTION_TABLE_H_

#include <cstdint>
#include <functional>
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
#include "server/collections/write_claims.h"
#include "server/sharing/shared_chunk.h"

namespace holdfast::collections {

// All collections of the daemon. A name belongs to the client that committed
// it: two clients may use the same, and neither learns of the other's. A name
// that is looked up is the client's own, else that of the one other client who
// shares such a collection with it; "OWNER:NAME" says which. Thread-safe.
class CollectionTable {
 public:
  static constexpr size_t kMaxOfClient = 1024;
  static constexpr size_t kMaxVersions = 1024;
  // Bytes of descriptions, of all versions of a client.
  static constexpr size_t kMaxDescriptions = size_t{64} << 20;

  // Who asks. A viewer that sees all may open nothing more than others.
  struct Viewer {
    std::string client;
    bool sees_all = false;
  };

  // Who commits: `charges` are for the buffers' chunks and end with the
  // version; `visibility` is that of a collection that is new.
  struct Terms {
    std::vector<std::shared_ptr<const Charge>> charges;
    v1::Visibility visibility;
  };
  // From now on versions and collections are kept for the next daemon; before
  // the first one. The store outlives the table.
  void KeepIn(DescriptorStore* store) { store_ = store; }
  // Takes over what an earlier daemon has left: a collection, then its
  // versions; and which sessions were to write one.
  void Adopt(const internal::CollectionRecord& record);
  void Adopt(const internal::VersionRecord& record,
             std::vector<SharedResource> buffers,
             std::vector<std::shared_ptr<const Charge>> charges);
  void Adopt(const internal::ClaimRecord& record);

  // Makes a version; see CommitCollection. `buffers` are those of the contents.
  // RESOURCE_EXHAUSTED: too many collections, versions or bytes of descriptions
  // of this client.
  absl::StatusOr<v1::CollectionVersion> Commit(
      const std::string& client, const std::string& session,
      v1::CommitCollection contents, std::vector<SharedResource> buffers,
      Terms terms);

  // A version that `session` has open until the result is destroyed; the table
  // must outlive that.
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

  // A version whose memory leaves its device or comes back: the steps of
  // CollectionSuspension, which moves one at a time. Each Begin is followed by
  // Finish or Cancel.
  struct Move {
    std::shared_ptr<const CollectionVersion> version;
    std::vector<SharedChunk*> chunks;  // to be moved; of the version
    Collection::Memory before = Collection::Memory::kResident;
  };
  // Names the chunks that only suspended versions would hold.
  // FAILED_PRECONDITION: it is suspended; it has readers; somebody else has its
  // memory mapped, or may have. PERMISSION_DENIED, NOT_FOUND.
  absl::StatusOr<Move> BeginSuspension(const Viewer& viewer,
                                       const std::string& name,
                                       uint64_t version);
  // Whether it would be refused now, for one who has to wait for its turn. A
  // version that is being moved may be where it should be by then.
  absl::Status CheckSuspension(const Viewer& viewer, const std::string& name,
                               uint64_t version);
  // Places of the same bytes, in the order of the chunks. Finish exchanges each
  // for where the chunk was, for the caller to let go of: that may take
  // seconds, for which the table's lock must not be held.
  using Places = std::vector<SharedChunk::Place>;
  // ABORTED: somebody has opened the version meanwhile; it stays on its device,
  // as is.
  absl::Status FinishSuspension(const Move& move, Places* places);

  // A reader of this version has to wait for its memory.
  bool NeedsResume(const OpenVersion& opened) const;
  // FAILED_PRECONDITION: it is not suspended. PERMISSION_DENIED, NOT_FOUND.
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
  // Bytes of the versions of this client's collections, by client.
  std::map<std::string, uint64_t> BytesByClient() const;

  // Claims a collection for a session; `answer` is called at once or later,
  // under the table's lock, and must not call the table. Returns a number for
  // Unclaim.
  using ClaimAnswer = WriteClaims::Answer;
  absl::StatusOr<int64_t> Claim(const std::string& client,
                                const std::string& session,
                                const std::string& name, ClaimAnswer answer);
  // After it, the answer is not called any more.
  void Unclaim(int64_t claim);
  // The session has ended, and so do its claims: others are told to write.
  void EndSession(const std::string& session);

  // Changes of one call, at least one: the same object for all who watch, since
  // a call may change every version.
  using Changes = std::shared_ptr<const std::vector<v1::CollectionChange>>;
  // Tells what there is, then each change that `viewer` may see, as Claim does.
  using Told = std::function<void(const Changes&)>;
  int64_t Watch(const Viewer& viewer, const std::string& name, Told told);
  void Unwatch(int64_t watcher);

 private:
  // Owner and name.
  using Key = std::pair<std::string, std::string>;
  using Collections = std::map<Key, Collection>;

  struct Watcher {
    Viewer viewer;
    std::string name;
    Told told;
  };

  absl::StatusOr<Collections::const_iterator> Find(
      const Viewer& viewer, const std::string& name) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The same, for its owner or a viewer that sees all.
  absl::StatusOr<Collections::iterator> FindOwn(const Viewer& viewer,
                                                const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets collections that were deleted and that nobody has open any more.
  void RemoveGone(const std::string& client)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MayCommit(const Key& key, size_t description_bytes) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // FAILED_PRECONDITION: somebody reads the version, or has one of the chunks
  // mapped that no version on a device needs. Returns those chunks.
  absl::StatusOr<std::vector<SharedChunk*>> CheckUnused(
      const Collection& collection, const CollectionVersion& version) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // A version of one's own, and the collection that it is of.
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
  static void Exchange(const Move& move, Places* places);
  void EndMove(const Move& move, Collection::Memory memory)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static Key KeyOf(const CollectionVersion& version) {
    return {version.client, version.contents.name()};
  }
  // Nobody reads the version any more, which may mean its end.
  void NoteUnused(const Key& key, uint64_t version);
  Collection::Unused UnusedOf(const Key& key) {
    return [this, key](uint64_t version) { NoteUnused(key, version); };
  }
  // Has the next daemon know the collection as it is now.
  void Keep(Collection& collection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepVersion(Collection& collection, uint64_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(const Collection& collection, v1::CollectionChange::Kind kind,
            const std::vector<uint64_t>& versions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // It may see the collection and asked for it.
  static bool Watches(const Watcher& watcher, const Collection& collection);
  // Has the next daemon know who is to write the collection.
  void KeepWriter(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  DescriptorStore* store_ = nullptr;  // null: nothing is kept
  mutable absl::Mutex mutex_;
  uint64_t last_kept_ ABSL_GUARDED_BY(mutex_) = 0;  // numbers of records
  // The sessions that are to write, for the next daemon.
  struct KeptWriter {
    std::string session;
    DescriptorStore::Kept record;
  };
  std::map<Key, KeptWriter> writers_ ABSL_GUARDED_BY(mutex_);
  Collections collections_ ABSL_GUARDED_BY(mutex_);
  WriteClaims claims_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, Watcher> watchers_ ABSL_GUARDED_BY(mutex_);
  int64_t last_watcher_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_TABLE_H_
