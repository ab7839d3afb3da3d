// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COLLECTIONS_COLLECTION_H_
#define HOLDFAST_SERVER_COLLECTIONS_COLLECTION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/internal/restart.pb.h"
#include "holdfast/v1/collections.pb.h"
#include "server/collections/collection_version.h"
#include "server/kept/descriptor_store.h"

namespace holdfast::collections {

// The readers of a version, by name: sessions ("s-7"), and processes that map
// the version's memory through a descriptor ("pid 4711"). Thread-safe.
class Readers {
 public:
  // Remove calls `unused`, without the lock, each time when no reader is left.
  explicit Readers(std::function<void()> unused = [] {})
      : unused_(std::move(unused)) {}

  void Add(const std::string& reader);
  void Remove(const std::string& reader);
  // Notes that a reader has mapped the memory. AllLeft returns false until
  // then, so that a reader whose mapping was refused does not retire the
  // version.
  void NoteRead();
  // Returns true if the version was read, and no reader has it open any more.
  bool AllLeft() const;
  std::set<std::string> List() const;

 private:
  const std::function<void()> unused_;
  mutable absl::Mutex mutex_;
  bool read_ ABSL_GUARDED_BY(mutex_) = false;
  std::multiset<std::string> readers_ ABSL_GUARDED_BY(mutex_);
};

// A version that a reader has open. The object keeps the version's memory
// alive, and its reader is listed among the version's readers.
class OpenVersion {
 public:
  OpenVersion(std::shared_ptr<const CollectionVersion> version,
              std::shared_ptr<Readers> readers, std::string reader);
  // Removes the reader. If it was the last, calls the collection table, which
  // may retire the version. REQUIRES: the table's lock is not held.
  ~OpenVersion();
  OpenVersion(const OpenVersion&) = delete;
  OpenVersion& operator=(const OpenVersion&) = delete;

  const CollectionVersion& version() const { return *version_; }
  const std::shared_ptr<const CollectionVersion>& shared_version() const {
    return version_;
  }
  // Notes that the reader has mapped all of the memory. The end of a reader
  // that has not mapped it does not retire the version.
  void NoteRead() const { readers_->NoteRead(); }
  // Opens the same version for another reader that has mapped the memory
  // already. Succeeds even if the version was retired.
  std::shared_ptr<const OpenVersion> OpenFor(std::string reader) const;

 private:
  const std::shared_ptr<const CollectionVersion> version_;
  const std::shared_ptr<Readers> readers_;
  const std::string reader_;
};

// One collection: its versions, its visibility, and the number of versions to
// keep. A version that is retired cannot be opened any more; its memory ends
// with the last object that holds it. Not thread-safe.
class Collection {
 public:
  Collection(std::string owner, std::string name, v1::Visibility visibility)
      : owner_(std::move(owner)),
        name_(std::move(name)),
        visibility_(std::move(visibility)) {}

  const std::string& owner() const { return owner_; }
  const std::string& name() const { return name_; }
  bool VisibleTo(const std::string& client) const;

  // Called with the number of a version that lost its last reader.
  using Unused = std::function<void(uint64_t version)>;

  // Adds a version under the next number, which is never reused, and returns
  // the number.
  uint64_t Add(CollectionVersion version, const Unused& unused);
  // Adds a version of an earlier daemon under its own number.
  void Adopt(CollectionVersion version, const Unused& unused);

  // The state for the next daemon. Record returns the collection's record, and
  // Adopt applies the record of an earlier daemon.
  internal::CollectionRecord Record() const;
  void Adopt(const internal::CollectionRecord& record);
  // Hold an entry of the store of kept descriptors: the entry of the
  // collection's record, or the entry of a version's record until the version
  // is retired. A version that is unknown or retired is ignored.
  void SetKept(DescriptorStore::Kept kept) { kept_ = std::move(kept); }
  void SetKept(uint64_t version, DescriptorStore::Kept kept);
  // The numbers under which the store has the records of the collection and of
  // a version; 0: there is no record yet. A number never changes, so that a new
  // record replaces the previous one. KeptNumber REQUIRES: the version exists.
  uint64_t kept_number = 0;
  uint64_t& KeptNumber(uint64_t version);
  // Retired versions. The functions that retire versions add them to `ended`,
  // which may hold the last reference to their memory. To free it may take
  // seconds, so the caller destroys `ended` after it has released its lock.
  using Versions = std::vector<std::shared_ptr<const CollectionVersion>>;
  // Retires unpinned versions that are not among the `keep` latest. If the
  // collection is configured with `until_unreferenced`, also retires unpinned
  // versions that all readers have left. Returns the numbers, ascending.
  std::vector<uint64_t> RetireOld(Versions* ended);
  // Retires this version only if `until_unreferenced` demands it. Returns its
  // number if it was retired.
  std::vector<uint64_t> RetireUnused(uint64_t version, Versions* ended);
  // Retires this version, or all if `version` is 0, pinned or not. Returns the
  // numbers, ascending.
  std::vector<uint64_t> Retire(uint64_t version, Versions* ended);

  // Returns false for an unknown version.
  bool pinned(uint64_t version) const;
  // Pins or unpins a version. Returns true if that has changed it, and false
  // for an unknown version.
  bool SetPinned(uint64_t version, bool pinned);
  // Checks one version, or all if `version` is 0. FAILED_PRECONDITION: versions
  // are pinned; the error names them.
  absl::Status CheckNotPinned(uint64_t version) const;

  // Returns true if no version can be opened.
  bool empty() const { return latest() == 0; }
  // Removes the retired versions that no object holds any more. Returns true if
  // no version is left.
  bool Gone();
  // Returns the latest version that can be opened; 0: none.
  uint64_t latest() const;
  // Returns the numbers of the versions that can be opened, ascending.
  std::vector<uint64_t> numbers() const;
  // count() is the number of versions, and description_bytes() the bytes of
  // their descriptions. Retired versions that an object holds count, too.
  size_t count() const { return versions_.size(); }
  size_t description_bytes() const;
  // Maps each chunk of the versions to its size in bytes. Includes retired
  // versions that an object holds.
  void AddChunks(std::map<const SharedChunk*, uint64_t>* chunks) const;

  // The place of a version's memory, or its move between the places: on the
  // device (resident) or off it (suspended). A retired version keeps its value.
  // memory() of an unknown version is kResident.
  enum class Memory { kResident, kSuspending, kSuspended, kResuming };
  Memory memory(uint64_t version) const;
  void SetMemory(uint64_t version, Memory memory);
  std::set<std::string> readers(uint64_t version) const;

  // The uses of a chunk by the versions of collections.
  struct ChunkUse {
    long references = 0;  // of versions' buffers
    // True if a version other than `except` needs the chunk on the device.
    bool needed = false;
  };
  using ChunkUses = std::map<const SharedChunk*, ChunkUse>;
  // Adds this collection's uses of the chunks in `uses` to their entries. The
  // version `except` does not count as needing its chunks; 0: every version
  // counts.
  void AddUses(uint64_t except, ChunkUses* uses) const;

  // Finds a version that can be opened; 0: the latest. NOT_FOUND: there is no
  // such version; the error lists the existing versions.
  absl::StatusOr<std::shared_ptr<const CollectionVersion>> Find(
      uint64_t version) const;
  // Opens a version for `session`. Fails as Find.
  absl::StatusOr<std::shared_ptr<const OpenVersion>> Open(
      uint64_t version, const std::string& session) const;

  // Applies the whole request, or nothing; retires no version. Returns the
  // numbers of the versions whose pinning has changed. INVALID_ARGUMENT: too
  // many clients or pins. NOT_FOUND: a version to pin or unpin does not exist.
  absl::StatusOr<std::set<uint64_t>> Configure(
      const v1::ConfigureCollectionRequest& request);

  // Describes one version, or all if `version` is 0, including retired versions
  // that an object holds.
  v1::CollectionInfo Info(uint64_t version) const;

 private:
  struct Entry {
    // Null: the version is retired.
    std::shared_ptr<const CollectionVersion> kept;
    std::weak_ptr<const CollectionVersion> alive;
    std::shared_ptr<Readers> readers;
    DescriptorStore::Kept record;
    uint64_t kept_number = 0;
    bool pinned = false;
    Memory memory = Memory::kResident;

    void Retire(Versions* ended) {
      pinned = false;
      if (kept != nullptr) ended->push_back(std::move(kept));
      kept = nullptr;
      record = DescriptorStore::Kept();
    }
  };
  static v1::VersionInfo Info(const CollectionVersion& version,
                              const Entry& entry);
  // Returns true if the version can be opened, and must be retired because its
  // last reader has left.
  bool GoesUnread(const Entry& entry) const;
  absl::Status CheckConfiguration(
      const v1::ConfigureCollectionRequest& request) const;

  const std::string owner_;
  const std::string name_;
  v1::Visibility visibility_;
  uint32_t keep_ = 1;
  bool until_unreferenced_ = false;
  uint64_t last_ = 0;
  std::map<uint64_t, Entry> versions_;
  DescriptorStore::Kept kept_;
};

// Collections by owner and name.
using Collections = std::map<std::pair<std::string, std::string>, Collection>;

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_H_
