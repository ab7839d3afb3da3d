// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/rebind.h"

#include "absl/strings/str_cat.h"
#include "client/cpp/graph/definition/definition_walk.h"
#include "client/cpp/graph/handle_uses.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<GraphDefinition> Rebind(const GraphDefinition& definition,
                                       const GraphBinding& binding) {
  v1::GraphDefinition message = definition.proto();
  absl::Status status;
  const auto replace = [&](const v1::GraphNode& node, HandleUse use,
                           uint64_t handle) -> uint64_t {
    const auto& handles = use == HandleUse::kKernel   ? binding.kernels
                          : use == HandleUse::kBuffer ? binding.buffers
                          : use == HandleUse::kEvent  ? binding.events
                                                      : binding.semaphores;
    const auto found = handles.find(handle);
    if (found != handles.end()) return found->second;
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("node ", node.id(), ": ", HandleUseName(use), " ",
                     HandleNumber(handle), " is not bound")));
    return handle;
  };
  ForEachDefinition(message, [&](v1::GraphDefinition& level) {
    for (v1::GraphNode& node : *level.mutable_nodes()) {
      ReplaceHandles(node, [&](HandleUse use, uint64_t handle) {
        return replace(node, use, handle);
      });
    }
  });
  HOLDFAST_RETURN_IF_ERROR(status);
  return GraphDefinition::FromProto(message);
}

}  // namespace holdfast
