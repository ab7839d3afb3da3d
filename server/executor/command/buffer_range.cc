// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/buffer_range.h"

#include "core/base/status_macros.h"
#include "core/cuda/copy.h"

namespace holdfast::executor {

absl::StatusOr<CUdeviceptr> ResolveRange(Resources& resources, uint64_t buffer,
                                         uint64_t offset, uint64_t size,
                                         Access access) {
  HOLDFAST_ASSIGN_OR_RETURN(BufferResource * found,
                            resources.buffers.Find(buffer));
  // The description is dear: only for an error.
  if (offset > found->size || size > found->size - offset) [[unlikely]] {
    HOLDFAST_RETURN_IF_ERROR(
        cuda::CheckRange(DescribeHandle(buffer), offset, size, found->size));
  }
  HOLDFAST_RETURN_IF_ERROR(CheckAccess(buffer, *found, access));
  return found->address + offset;
}

}  // namespace holdfast::executor
