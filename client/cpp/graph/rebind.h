// SPDX-License-Identifier: Apache-2.0
//
// Replaces the kernels, buffers and events of a definition by those of another
// session, or by the numbers of a file (graph_file.h).
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_REBIND_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_REBIND_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "client/cpp/buffer.h"
#include "client/cpp/event.h"
#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/kernel.h"

namespace holdfast {

// The new handle of each old handle. Every handle of the definition must be
// bound.
struct GraphBinding {
  absl::flat_hash_map<uint64_t, uint64_t> kernels;
  // Buffers and arenas.
  absl::flat_hash_map<uint64_t, uint64_t> buffers;
  absl::flat_hash_map<uint64_t, uint64_t> events;
  absl::flat_hash_map<uint64_t, uint64_t> semaphores;

  // Binds a handle, in place of an earlier binding. One overload for each kind.
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

// Returns a copy of the definition with every handle replaced. Edges and ids
// stay. INVALID_ARGUMENT: a handle is not bound; the message names the node and
// the handle.
absl::StatusOr<GraphDefinition> Rebind(const GraphDefinition& definition,
                                       const GraphBinding& binding);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_REBIND_H_
