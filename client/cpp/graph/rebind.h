// SPDX-License-Identifier: Apache-2.0
//
// A definition for other kernels, buffers and events: those of another session,
// or those that a file names (graph_file.h).
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_REBIND_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_REBIND_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "client/cpp/buffer.h"
#include "client/cpp/event.h"
#include "client/cpp/graph/graph_definition.h"
#include "client/cpp/kernel.h"

namespace holdfast {

// New handles by old ones. The definition must not name a handle that is not
// bound.
struct GraphBinding {
  absl::flat_hash_map<uint64_t, uint64_t> kernels;
  // Arenas, too.
  absl::flat_hash_map<uint64_t, uint64_t> buffers;
  absl::flat_hash_map<uint64_t, uint64_t> events;
  absl::flat_hash_map<uint64_t, uint64_t> semaphores;

  // One overload for each kind; binding again replaces.
  void Bind(const Kernel& from, const Kernel& to) {
    kernels[from.handle()] = to.handle();
  }
  void Bind(const Buffer& from, const Buffer& to) {
    buffers[from.handle()] = to.handle();
  }
  void Bind(const Event& from, const Event& to) {
    events[from.handle()] = to.handle();
  }
};

// Returns the definition with every handle replaced. INVALID_ARGUMENT: one is
// not bound; the message names the node and the handle. The definition itself
// is not changed. Edges and ids stay as they are.
absl::StatusOr<GraphDefinition> Rebind(const GraphDefinition& definition,
                                       const GraphBinding& binding);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_REBIND_H_
