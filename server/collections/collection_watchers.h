// SPDX-License-Identifier: Apache-2.0
//
// The watchers of collections. A watcher is a callback that gets the changes of
// one collection, or of all, that its client may see.
//
// CollectionTable calls this class under its lock, so the callbacks run under
// that lock, too. So each watcher gets all changes in their order.
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

// The client of a call. `sees_all` lets an operator see and manage all
// collections; it does not let the client open more of them.
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
  // One change or more, all made by one call. All watchers share one object,
  // because a call may change every version of a collection.
  using Changes = std::shared_ptr<const std::vector<v1::CollectionChange>>;
  // Must not call the table.
  using Told = std::function<void(const Changes&)>;

  // Adds a watcher of the collection `name`, or of all if `name` is empty.
  // Calls `told` before it returns with the latest version of each collection
  // of `present` that it watches, if there is any. Returns a number for Remove.
  int64_t Add(const Viewer& viewer, const std::string& name, Told told,
              const Collections& present);
  void Remove(int64_t watcher) { watchers_.erase(watcher); }

  // Calls the watchers of the collection with a change of each of these
  // versions. Does nothing if there are no versions.
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
  int64_t last_ = 0;  // the number of the last watcher
};

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_WATCHERS_H_
