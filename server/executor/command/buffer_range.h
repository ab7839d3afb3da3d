// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_BUFFER_RANGE_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_BUFFER_RANGE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "cuda.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// Returns the address of `size` bytes at `offset` of the buffer `buffer`.
// OUT_OF_RANGE: the bytes are beyond the buffer's end. Otherwise fails as
// HandleTable::Find and CheckAccess do.
absl::StatusOr<CUdeviceptr> ResolveRange(Resources& resources, uint64_t buffer,
                                         uint64_t offset, uint64_t size,
                                         Access access = Access::kRead);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_BUFFER_RANGE_H_
