// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_HANDLE_USES_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_HANDLE_USES_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast {

// The kind of resource that a handle in a node names; kBuffer includes arenas.
enum class HandleUse { kKernel, kBuffer, kEvent, kSemaphore };

// "kernel", "buffer" ...
absl::string_view HandleUseName(HandleUse use);
// Returns a number for messages: the index of a handle, or the whole handle if
// it comes from a file.
uint64_t HandleNumber(uint64_t handle);

// Replaces each handle of the node, but not of its nested graphs, by the result
// of `replace`. Leaves null pointers (buffer 0).
void ReplaceHandles(
    v1::GraphNode& node,
    absl::FunctionRef<uint64_t(HandleUse use, uint64_t handle)> replace);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_HANDLE_USES_H_
