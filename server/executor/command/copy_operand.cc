// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/copy_operand.h"

#include "core/base/handle.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"

namespace holdfast::executor {
namespace {

absl::Status CheckPlace(uint64_t handle, uint64_t offset, uint64_t size,
                        uint64_t limit) {
  // The description is dear: only for an error.
  if (offset <= limit && size <= limit - offset) [[likely]] {
    return absl::OkStatus();
  }
  return cuda::CheckRange(DescribeHandle(handle), offset, size, limit);
}

}  // namespace

absl::StatusOr<CopyOperand> ResolveCopyOperand(Resources& resources,
                                               uint64_t handle, uint64_t offset,
                                               uint64_t size, Access access) {
  if (Handle::Unpack(handle).kind == HandleKind::kArena) {
    HOLDFAST_ASSIGN_OR_RETURN(ArenaResource * found,
                              resources.arenas.Find(handle));
    HOLDFAST_RETURN_IF_ERROR(
        CheckPlace(handle, offset, size, found->arena->size()));
    return CopyOperand{.address = found->arena->device_address() + offset,
                       .is_arena = true};
  }
  HOLDFAST_ASSIGN_OR_RETURN(BufferResource * found,
                            resources.buffers.Find(handle));
  HOLDFAST_RETURN_IF_ERROR(CheckPlace(handle, offset, size, found->size));
  HOLDFAST_RETURN_IF_ERROR(CheckAccess(handle, *found, access));
  CopyOperand place{.address = found->address + offset};
  if (!found->is_host) place.device = found->device;
  return place;
}

absl::Status CopyBetween(Resources& resources, const cuda::Stream& stream,
                         const CopyOperand& destination,
                         const CopyOperand& source, uint64_t size) {
  if (size == 0) return absl::OkStatus();
  resources.copies().Add(PathOf(destination, source), size);
  if (!IsPeerCopy(destination, source)) {
    return cuda::CopyAsync(stream, destination.address, source.address, size);
  }
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * to,
                            resources.devices.Open(*destination.device));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * from,
                            resources.devices.Open(*source.device));
  return cuda::CopyPeerAsync(stream, destination.address, *to->context,
                             source.address, *from->context, size);
}

}  // namespace holdfast::executor
