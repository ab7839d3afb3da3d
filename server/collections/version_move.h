// SPDX-License-Identifier: Apache-2.0
//
// A move of a version's memory off its device or back, and the rule that says
// which memory may leave its device.
//
// A chunk may leave its device if all versions that contain it are suspended,
// and only versions hold it: no reader, no session that made or imported the
// chunk, and no token with which a session could import it. A reader is entered
// in the version's list before it gets any memory. So the last check, in
// CollectionTable::FinishSuspension, is final.
//
// CollectionTable calls all functions under its lock, so that collections do
// not change during a call.
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
  // The chunks of the version to move. `version` keeps them alive.
  std::vector<SharedChunk*> chunks;
  // The state that the version has again if the move is cancelled.
  Collection::Memory before = Collection::Memory::kResident;

  // New places of the bytes, in the order of the chunks.
  using Places = std::vector<SharedChunk::Place>;
  // Moves each chunk to its place in `places`, and puts the chunk's old place
  // there. REQUIRES: there is a place for each chunk.
  void Exchange(Places* places) const;
};

// Returns the version's chunks that are on a device and may leave it if the
// version is suspended. `all` are the collections of the daemon; `collection`
// is the version's. FAILED_PRECONDITION: the version has readers, or a chunk
// that no version needs is or may be mapped elsewhere.
absl::StatusOr<std::vector<SharedChunk*>> ChunksToLeave(
    const Collections& all, const Collection& collection,
    const CollectionVersion& version);

// Returns the version's chunks that are not on their devices.
std::vector<SharedChunk*> ChunksAway(const CollectionVersion& version);

// Returns the version's number and its collection's name, for messages.
std::string Named(const CollectionVersion& version);
// Return the FAILED_PRECONDITION error that says that the version is suspended
// already, or that it is not suspended. Neither function checks the version.
absl::Status IsSuspended(const CollectionVersion& version);
absl::Status IsNotSuspended(const CollectionVersion& version);

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_VERSION_MOVE_H_
