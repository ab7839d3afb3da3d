// SPDX-License-Identifier: Apache-2.0
//
// Who is told of changes of collections. A watcher is told of the changes that
// its client may see, of one collection or of all.
//
// CollectionTable guards it by its lock, under which watchers are told: so each
// watcher learns of all changes in their order.
#ifndef HOLDFAST_SERVER_COLLECTIONS_COLLECTION_WATCHERS_H_
#define HOLDFAST_SERVER_COLLECTIONS_COLLECTION_WATCHERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/v1/collections.pb.h"
#include "server/collections/collection.h"

namespace holdfast::collections {

// The client of a call. A viewer that sees all collections may still open only
// those that it could open otherwise.
struct Viewer {
  std::string client;
  bool sees_all = false;

  bool Sees(const Collection& collection) const {
    return sees_all || collection.VisibleTo(client);
  }
};

// Not thread-safe.
class CollectionWatchers {
 public:
  // The changes of one call, at least one. All watchers get the same object,
  // because a call may change every version.
  using Changes = std::shared_ptr<const std::vector<v1::CollectionChange>>;
  // Must not call the table.
  using Told = std::function<void(const Changes&)>;

  // Adds a watcher of the collection `name`, or of all if it is empty. Tells it
  // first of the latest version of each collection that it watches. Returns a
  // number for Remove.
  int64_t Add(const Viewer& viewer, const std::string& name, Told told,
              const Collections& present);
  void Remove(int64_t watcher) { watchers_.erase(watcher); }

  // Tells of a change of these versions; of nothing if there are none.
  void Tell(const Collection& collection, v1::CollectionChange::Kind kind,
            const std::vector<uint64_t>& versions) const;

 private:
  struct Watcher {
    Viewer viewer;
    std::string name;
    Told told;

    bool Watches(const Collection& collection) const;
  };

  std::map<int64_t, Watcher> watchers_;
  int64_t last_ = 0;  // number
};

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_WATCHERS_H_
