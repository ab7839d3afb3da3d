// SPDX-License-Identifier: Apache-2.0
#include "server/executor/graph/graph_allocations.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/executor/command/command.h"

namespace holdfast::executor {

absl::Status GraphAllocations::CheckAccess(
    const v1::GraphAllocation& node) const {
  for (const uint32_t device : node.accessible_from()) {
    if (device == node.device()) continue;
    HOLDFAST_RETURN_IF_ERROR(resources_.devices.Open(device).status());
    if (resources_.peers.Allows(device, node.device())) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the allocation is to be accessible from device ", device,
                     ", which has no access to memory of device ",
                     node.device(), " (EnablePeerAccess)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<BufferResource> GraphAllocations::Allocate(
    const v1::GraphAllocation& node) {
  if (node.size() == 0) {
    return absl::InvalidArgumentError(
        "an allocation of 0 bytes: at least 1 is possible");
  }
  HOLDFAST_RETURN_IF_ERROR(resources_.devices.Open(node.device()).status());
  HOLDFAST_RETURN_IF_ERROR(CheckAccess(node));
  BufferResource buffer;
  buffer.size = node.size();
  buffer.device = node.device();
  HOLDFAST_ASSIGN_OR_RETURN(
      buffer.charge, resources_.account().device_memory()->Take(node.size()));
  HOLDFAST_ASSIGN_OR_RETURN(
      buffer.allocation,
      resources_.devices.Allocate(node.buffer(), node.device(), node.size(),
                                  /*stream=*/nullptr, /*alone=*/false));
  buffer.address = buffer.allocation->address;
  return buffer;
}

absl::Status GraphAllocations::Make(const v1::GraphAllocation& node) {
  HOLDFAST_RETURN_IF_ERROR(Create(resources_.buffers, node.buffer(),
                                  [&] { return Allocate(node); }));
  made_.push_back(node.buffer());
  return absl::OkStatus();
}

absl::Status GraphAllocations::Free(const v1::GraphFree& node) {
  HOLDFAST_RETURN_IF_ERROR(resources_.buffers.Find(node.buffer()).status());
  if (freed_.insert(node.buffer()).second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      DescribeHandle(node.buffer()), " is freed by an earlier node already"));
}

void GraphAllocations::Abandon(const absl::Status& cause) {
  for (const uint64_t handle : std::exchange(made_, {})) {
    auto buffer = resources_.buffers.Fail(handle, cause);
    if (!buffer.has_value()) continue;
    const absl::Status status =
        resources_.FreeBuffer(*std::move(buffer), /*stream=*/0);
    if (!status.ok()) LogWarning("freeing a buffer: ", status.message());
  }
}

}  // namespace holdfast::executor
