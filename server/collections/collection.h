// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COLLECTIONS_COLLECTION_H_
#define HOLDFAST_SERVER_COLLECTIONS_COLLECTION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/internal/restart.pb.h"
#include "holdfast/v1/collections.pb.h"
#include "server/collections/collection_version.h"
#include "server/restart/descriptor_store.h"

namespace holdfast {

// The sessions that have a version open. Thread-safe.
class Readers {
 public:
  void Add(const std::string& session);
  void Remove(const std::string& session);
  std::set<std::string> List() const;

 private:
  mutable absl::Mutex mutex_;
  std::multiset<std::string> sessions_ ABSL_GUARDED_BY(mutex_);
};

// A version that a session has open: it holds the memory, and stands among the
// version's readers.
class OpenVersion {
 public:
  OpenVersion(std::shared_ptr<const CollectionVersion> version,
              std::shared_ptr<Readers> readers, std::string session);
  ~OpenVersion();
  OpenVersion(const OpenVersion&) = delete;
  OpenVersion& operator=(const OpenVersion&) = delete;

  const CollectionVersion& version() const { return *version_; }

 private:
  const std::shared_ptr<const CollectionVersion> version_;
  const std::shared_ptr<Readers> readers_;
  const std::string session_;
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

  // Adds a version, and retires those that `keep` does not cover. Returns its
  // number: numbers are never used twice.
  uint64_t Add(CollectionVersion version);
  // One that an earlier daemon had, with its number.
  void Adopt(CollectionVersion version);

  // For the next daemon: what is to be known of the collection itself, its
  // place in the store, and that of a version until that is retired.
  internal::CollectionRecord Record() const;
  void Adopt(const internal::CollectionRecord& record);
  void SetKept(DescriptorStore::Kept kept) { kept_ = std::move(kept); }
  void SetKept(uint64_t version, DescriptorStore::Kept kept);
  // Its number in the store; 0: none yet.
  uint64_t kept_number = 0;
  // Retires one version, or with 0 all. Returns how many.
  uint32_t Retire(uint64_t version);

  // No version can be opened.
  bool empty() const { return latest() == 0; }
  // Nothing is left, not even of retired ones.
  bool Gone();
  // 0: none.
  uint64_t latest() const;
  size_t count() const { return versions_.size(); }
  size_t description_bytes() const;

  // 0: the latest. NOT_FOUND names those that there are.
  absl::StatusOr<std::shared_ptr<const CollectionVersion>> Find(
      uint64_t version) const;
  absl::StatusOr<std::shared_ptr<const OpenVersion>> Open(
      uint64_t version, const std::string& session) const;

  absl::Status Configure(const v1::ConfigureCollectionRequest& request);

  // With one version, or with 0 all.
  v1::CollectionInfo Info(uint64_t version) const;

 private:
  struct Entry {
    // Null: retired.
    std::shared_ptr<const CollectionVersion> kept;
    std::weak_ptr<const CollectionVersion> alive;
    std::shared_ptr<Readers> readers;
    DescriptorStore::Kept record;

    void Retire() {
      kept.reset();
      record = DescriptorStore::Kept();
    }
  };
  static v1::VersionInfo Info(const CollectionVersion& version,
                              const Entry& entry);
  void RetireOld();

  const std::string owner_;
  const std::string name_;
  v1::Visibility visibility_;
  uint32_t keep_ = 1;
  uint64_t last_ = 0;
  std::map<uint64_t, Entry> versions_;
  DescriptorStore::Kept kept_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_H_
