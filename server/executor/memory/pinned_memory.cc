// SPDX-License-Identifier: Apache-2.0
#include "server/executor/memory/pinned_memory.h"

#include "core/base/status_macros.h"

namespace holdfast::executor {

absl::StatusOr<std::unique_ptr<PinnedMemory>> PinnedMemory::Allocate(
    std::shared_ptr<const cuda::Context> context, size_t size, Quota& quota) {
  HOLDFAST_ASSIGN_OR_RETURN(Charge charge, quota.Take(size));
  HOLDFAST_ASSIGN_OR_RETURN(
      auto memory, cuda::HostMemory::Allocate(std::move(context), size));
  return std::unique_ptr<PinnedMemory>(
      new PinnedMemory(std::move(charge), std::move(memory)));
}

absl::StatusOr<std::unique_ptr<PinnedMemory>> PinnedMemory::Register(
    std::shared_ptr<const cuda::Context> context, char* data, size_t size,
    Quota& quota) {
  HOLDFAST_ASSIGN_OR_RETURN(Charge charge, quota.Take(size));
  HOLDFAST_ASSIGN_OR_RETURN(
      auto memory, cuda::HostMemory::Register(std::move(context), data, size));
  return std::unique_ptr<PinnedMemory>(
      new PinnedMemory(std::move(charge), std::move(memory)));
}

}  // namespace holdfast::executor
