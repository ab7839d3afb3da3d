// SPDX-License-Identifier: Apache-2.0
#include "server/collections/collection_watchers.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace holdfast::collections {
namespace {

v1::CollectionChange ChangeOf(const Collection& collection,
                              v1::CollectionChange::Kind kind,
                              uint64_t version) {
  v1::CollectionChange change;
  change.set_kind(kind);
  change.set_name(collection.name());
  change.set_owner(collection.owner());
  change.set_version(version);
  return change;
}

CollectionWatchers::Changes ChangesOf(const Collection& collection,
                                      v1::CollectionChange::Kind kind,
                                      const std::vector<uint64_t>& versions) {
  auto changes = std::make_shared<std::vector<v1::CollectionChange>>();
  changes->reserve(versions.size());
  for (const uint64_t version : versions) {
    changes->push_back(ChangeOf(collection, kind, version));
  }
  return changes;
}

}  // namespace

bool CollectionWatchers::Watcher::Watches(const Collection& collection) const {
  if (!viewer.Sees(collection)) return false;
  return name.empty() || name == collection.name() ||
         name == absl::StrCat(collection.owner(), ":", collection.name());
}

int64_t CollectionWatchers::Add(const Viewer& viewer, const std::string& name,
                                Told told, const Collections& present) {
  Watcher watcher = {viewer, name, std::move(told)};
  std::vector<v1::CollectionChange> changes;
  for (const auto& [key, collection] : present) {
    if (collection.empty() || !watcher.Watches(collection)) continue;
    changes.push_back(ChangeOf(collection, v1::CollectionChange::KIND_PRESENT,
                               collection.latest()));
  }
  if (!changes.empty()) {
    watcher.told(std::make_shared<const std::vector<v1::CollectionChange>>(
        std::move(changes)));
  }
  watchers_[++last_] = std::move(watcher);
  return last_;
}

void CollectionWatchers::Tell(const Collection& collection,
                              v1::CollectionChange::Kind kind,
                              const std::vector<uint64_t>& versions) const {
  if (versions.empty()) return;
  Changes changes;  // made for the first watcher
  for (const auto& [number, watcher] : watchers_) {
    if (!watcher.Watches(collection)) continue;
    if (changes == nullptr) changes = ChangesOf(collection, kind, versions);
    watcher.told(changes);
  }
}

}  // namespace holdfast::collections
