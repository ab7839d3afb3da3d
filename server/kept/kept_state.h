// SPDX-License-Identifier: Apache-2.0
//
// The state that an earlier daemon has left, sorted by kind. Descriptors that
// belong to no session or collection, and records that cannot be read, are
// closed and logged.
#ifndef HOLDFAST_SERVER_KEPT_KEPT_STATE_H_
#define HOLDFAST_SERVER_KEPT_KEPT_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"
#include "holdfast/internal/restart.pb.h"
#include "server/kept/descriptor_store.h"
#include "server/objects/object_store.h"

namespace holdfast {

struct KeptChunk {
  uint32_t device = 0;
  uint64_t address = 0;
  uint64_t size = 0;  // bytes
  UniqueFd memory;
  UniqueFd event_page;  // of the event that the chunk was made for, if any
};

struct KeptArena {
  uint64_t size = 0;  // bytes
  UniqueFd memory;
};

struct KeptSession {
  // nullopt: the session has ended, but some of its chunks are still in use.
  std::optional<internal::SessionRecord> record;
  // The listening sockets: for rpcs, and for descriptors of clients.
  UniqueFd calls;
  UniqueFd descriptors;
  uint64_t epoch = 0;
  UniqueFd journal;
  std::map<uint64_t, KeptChunk> chunks;
  // Chunks of suspended collections, whose memory is a file with the bytes.
  std::map<uint64_t, KeptChunk> saved_chunks;
  // Chunks of collections that were resumed. Like saved_chunks, they do not
  // belong to the session any more.
  std::map<uint64_t, KeptChunk> owned_chunks;
  std::map<uint64_t, KeptArena> arenas;  // by handle
  std::vector<std::shared_ptr<const StoredObject>> objects;
  std::map<uint64_t, internal::ImportRecord> imports;
  std::optional<internal::SuspensionRecord> suspension;
  UniqueFd image;
  UniqueFd variables;  // of the session's modules, if it was idle
  // True if the session had no running work when the daemon ended.
  bool idle = false;
  // True if the session had no client. If false, its client may return.
  bool detached = false;

  // Returns true if the session can be served again.
  bool whole() const {
    return record.has_value() && calls.valid() && descriptors.valid() &&
           journal.valid();
  }
};

struct KeptState {
  std::map<uint64_t, KeptSession> sessions;  // by number
  std::vector<internal::CollectionRecord> collections;
  std::vector<internal::VersionRecord> versions;  // oldest first
  std::vector<internal::ClaimRecord> claims;
  std::vector<internal::TenantRecord> tenants;
  internal::DaemonRecord daemon;
  internal::CountersRecord counters;
  UniqueFd directory;  // of the executors' sockets
  // The names of all descriptors, also of those that were closed.
  std::vector<std::string> names;
};

// Sorts the descriptors, and parses the records. Never fails.
KeptState SortKept(std::vector<KeptDescriptor> kept);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_KEPT_KEPT_STATE_H_
