// SPDX-License-Identifier: Apache-2.0
//
// Names of descriptors that outlive the daemon. A name contains the whole
// meaning of its descriptor, so that no index has to be consistent after a
// crash:
//
//   hf.session.7                      a SessionRecord
//   hf.calls.7, hf.descriptors.7      sockets that the executor listens on
//   hf.journal.7.3                    the session's journal in epoch 3
//   hf.chunk.7.1.0.7f2000000.2000000  chunk 1: device, address, bytes
//   hf.saved.7.1.0.7f2000000.2000000  a file with the chunk's bytes, while they
//                                     are off the device
//   hf.owned.7.1.0.7f2000000.2000000  the chunk, after they have come back
//   hf.event.7.1                      the page of the event of chunk 1
//   hf.arena.7.HANDLE.BYTES           an arena, memory shared with the client
//   hf.code.7.N, hf.header.7.N        a loaded object and its v1.ObjectHeader
//   hf.import.7.N                     an ImportRecord
//   hf.suspension.7, hf.image.7       a SuspensionRecord, and the file with the
//                                     bytes of the suspended session
//   hf.variables.7                    the executor's SavedVariables
//   hf.idle.7                         the session has no running work (upgrade)
//   hf.detached.7                     the session has no client
//   hf.collection.N, hf.version.N     CollectionRecord, VersionRecord
//   hf.claim.N                        a ClaimRecord
//   hf.tenant.N                       a TenantRecord
//   hf.daemon.0                       a DaemonRecord
//   hf.counters                       a CountersRecord (upgrade)
//   hf.directory                      the directory of executors' sockets
//   hf.listener.N                     a socket that the daemon listens on
//   hf.given.N                        such a socket, which the service manager
//                                     has made
//   hf.leaving.PID, hf.left.N         the earlier daemon's spawner and its
//                                     children (upgrade)
//   hf.processes, hf.spawner,         processes that were started for the next
//   hf.process.N, hf.channel.N        daemon (upgrade)
//
// Numbers are hexadecimal. A descriptor that replaces another descriptor of the
// same name has a version at the end, "hf.collection.1~2", so that both can be
// kept for a moment. The descriptor with the highest version is valid.
#ifndef HOLDFAST_SERVER_KEPT_KEPT_NAME_H_
#define HOLDFAST_SERVER_KEPT_KEPT_NAME_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast {

struct KeptName {
  std::string kind;  // "chunk"
  std::vector<uint64_t> numbers;
  uint64_t version = 0;

  // Returns the name in the form above.
  std::string ToString() const;
  // Parses a name; returns nullopt if it has another form.
  static std::optional<KeptName> Parse(absl::string_view name);
};

// Returns the number in a session's id: 7 for "s-7"; 0 if the text is no id.
uint64_t SessionNumber(absl::string_view session_id);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_KEPT_KEPT_NAME_H_
