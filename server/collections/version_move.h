// SPDX-License-Identifier: Apache-2.0
//
// A move of a version's memory off its device or back, and the rule which
// memory may leave.
//
// A chunk may leave its device if all versions that have it are suspended, and
// nobody but versions holds it: no reader, no session that made or imported it,
// and no token by which somebody could get it. A reader stands in the version's
// list before it gets any memory. So the last check, in
// CollectionTable::FinishSuspension, is final.
//
// Functions of collections that do not change meanwhile: CollectionTable calls
// them under its lock.
#ifndef HOLDFAST_SERVER_COLLECTIONS_VERSION_MOVE_H_
#define HOLDFAST_SERVER_COLLECTIONS_VERSION_MOVE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/collections/collection.h"
#include "server/collections/collection_version.h"
#include "server/sharing/shared_chunk.h"

namespace holdfast::collections {

struct VersionMove {
  std::shared_ptr<const CollectionVersion> version;
  std::vector<SharedChunk*> chunks;  // chunks of the version to move
  Collection::Memory before = Collection::Memory::kResident;

  // New places of the bytes, in the order of the chunks.
  using Places = std::vector<SharedChunk::Place>;
  // Exchanges each place for the old place of its chunk.
  void Exchange(Places* places) const;
};

// Returns the version's chunks that no version on a device needs. `all` are the
// collections of the daemon; `collection` is the version's.
// FAILED_PRECONDITION: the version has readers, or such a chunk is mapped.
absl::StatusOr<std::vector<SharedChunk*>> ChunksToLeave(
    const Collections& all, const Collection& collection,
    const CollectionVersion& version);

// Returns the version's chunks that are not on their devices.
std::vector<SharedChunk*> ChunksAway(const CollectionVersion& version);

// The version's number and its collection, for messages.
std::string Named(const CollectionVersion& version);
// Return FAILED_PRECONDITION: the version is suspended already, or is not.
absl::Status IsSuspended(const CollectionVersion& version);
absl::Status IsNotSuspended(const CollectionVersion& version);

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_VERSION_MOVE_H_
