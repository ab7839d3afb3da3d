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
#include "server/restart/descriptor_store.h"

namespace holdfast::collections {

// Those that have a version open, by name: sessions ("s-7"), and processes that
// map it through a descriptor ("pid 4711"). Thread-safe.
class Readers {
 public:
  // `unused` is called each time that the last one has let go, by its thread.
  explicit Readers(std::function<void()> unused = [] {})
      : unused_(std::move(unused)) {}

  void Add(const std::string& reader);
  void Remove(const std::string& reader);
  // A reader has the memory. One that is refused it was never among those that
  // the version is kept for.
  void NoteRead();
  // The version was read, and nobody has it open any more.
  bool AllLeft() const;
  std::set<std::string> List() const;

 private:
  const std::function<void()> unused_;
  mutable absl::Mutex mutex_;
  bool read_ ABSL_GUARDED_BY(mutex_) = false;
  std::multiset<std::string> readers_ ABSL_GUARDED_BY(mutex_);
};

// A version that a reader has open: it holds the memory, and stands among the
// version's readers.
class OpenVersion {
 public:
  OpenVersion(std::shared_ptr<const CollectionVersion> version,
              std::shared_ptr<Readers> readers, std::string reader);
  // Calls the collection table if it was the last one. REQUIRES: the table's
  // lock is not held.
  ~OpenVersion();
  OpenVersion(const OpenVersion&) = delete;
  OpenVersion& operator=(const OpenVersion&) = delete;

  const CollectionVersion& version() const { return *version_; }
  const std::shared_ptr<const CollectionVersion>& shared_version() const {
    return version_;
  }
  // The reader has all of the memory: until then, its end is the end of an
  // attempt, with which nothing is retired.
  void NoteRead() const { readers_->NoteRead(); }
  // The same version for another reader, who has the memory; also if it was
  // retired.
  std::shared_ptr<const OpenVersion> OpenFor(std::string reader) const;

 private:
  const std::shared_ptr<const CollectionVersion> version_;
  const std::shared_ptr<Readers> readers_;
  const std::string reader_;
};

// One collection: its versions, who may open it, and how many versions stay.
// Not thread-safe.
class Collection {
 public:
  Collection(std::string owner, std::string name, v1::Visibility visibility)
      : owner_(std::move(owner)),
        name_(std::move(name)),
        visibility_(std::move(visibility)) {}

  const std::string& owner() const { return owner_; }
  const std::string& name() const { return name_; }
  bool VisibleTo(const std::string& client) const;

  // Told of the numbers of versions that nobody reads any more.
  using Unused = std::function<void(uint64_t version)>;

  // Adds a version. Returns its number: numbers are never used twice.
  uint64_t Add(CollectionVersion version, const Unused& unused);
  // One that an earlier daemon had, with its number.
  void Adopt(CollectionVersion version, const Unused& unused);

  // For the next daemon: what is to be known of the collection itself, its
  // place in the store, and that of a version until that is retired.
  internal::CollectionRecord Record() const;
  void Adopt(const internal::CollectionRecord& record);
  void SetKept(DescriptorStore::Kept kept) { kept_ = std::move(kept); }
  void SetKept(uint64_t version, DescriptorStore::Kept kept);
  // Its number in the store, and a version's; 0: none yet. They stay, so that a
  // record that is written anew replaces the one before.
  uint64_t kept_number = 0;
  uint64_t& KeptNumber(uint64_t version);
  // Each retires versions and returns their numbers: all that `keep` and pins
  // do not cover, and those that go because nobody reads them any more; one, if
  // it goes for that; one, or with 0 all.
  std::vector<uint64_t> RetireOld();
  std::vector<uint64_t> RetireUnused(uint64_t version);
  std::vector<uint64_t> Retire(uint64_t version);

  bool pinned(uint64_t version) const;
  // Returns whether that is a change.
  bool SetPinned(uint64_t version, bool pinned);
  // Those of one version, or with 0 of all. FAILED_PRECONDITION names them.
  absl::Status CheckNotPinned(uint64_t version) const;

  // No version can be opened.
  bool empty() const { return latest() == 0; }
  // Nothing is left, not even of retired ones.
  bool Gone();
  // 0: none.
  uint64_t latest() const;
  // The versions that can be opened; ascending.
  std::vector<uint64_t> numbers() const;
  size_t count() const { return versions_.size(); }
  size_t description_bytes() const;
  // Adds the bytes of each buffer's chunk, of all versions whose memory is
  // there.
  void AddChunks(std::map<const SharedChunk*, uint64_t>* chunks) const;

  // Whether a version's memory is where readers find it, and what is being done
  // about that. Those that are retired count as before.
  enum class Memory { kResident, kSuspending, kSuspended, kResuming };
  Memory memory(uint64_t version) const;
  void SetMemory(uint64_t version, Memory memory);
  std::set<std::string> readers(uint64_t version) const;

  // How the versions use some chunks: adds to `uses` those of the chunks that
  // are there.
  struct ChunkUse {
    long references = 0;  // of versions' buffers
    // A version other than the one that was named needs it on the device.
    bool needed = false;
  };
  using ChunkUses = std::map<const SharedChunk*, ChunkUse>;
  // `except`: the named version; 0: none of this collection.
  void AddUses(uint64_t except, ChunkUses* uses) const;

  // 0: the latest. NOT_FOUND names those that there are.
  absl::StatusOr<std::shared_ptr<const CollectionVersion>> Find(
      uint64_t version) const;
  absl::StatusOr<std::shared_ptr<const OpenVersion>> Open(
      uint64_t version, const std::string& session) const;

  // All or nothing. Retires nothing yet. Returns the versions that are pinned
  // or unpinned now and were not before.
  absl::StatusOr<std::set<uint64_t>> Configure(
      const v1::ConfigureCollectionRequest& request);

  // With one version, or with 0 all.
  v1::CollectionInfo Info(uint64_t version) const;

 private:
  struct Entry {
    // Null: retired.
    std::shared_ptr<const CollectionVersion> kept;
    std::weak_ptr<const CollectionVersion> alive;
    std::shared_ptr<Readers> readers;
    DescriptorStore::Kept record;
    uint64_t kept_number = 0;
    bool pinned = false;
    Memory memory = Memory::kResident;

    void Retire() {
      pinned = false;
      kept.reset();
      record = DescriptorStore::Kept();
    }
  };
  static v1::VersionInfo Info(const CollectionVersion& version,
                              const Entry& entry);
  // It can be opened, and goes because its last reader has let go.
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

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_H_
