// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SHARING_FOREIGN_MEMORY_H_
#define HOLDFAST_SERVER_EXECUTOR_SHARING_FOREIGN_MEMORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "holdfast/v1/sharing_commands.pb.h"
#include "server/executor/imports/imported_memory.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// Maps memory of a process outside Holdfast, for reading and writing. The
// client has sent one of these descriptors on the session's descriptor socket:
//
//   the result of cuMemExportToShareableHandle
//   the result of cuMemPoolExportToShareableHandle; the command then has the
//     exported data of a pointer in the pool
//   a sealed memfd with the 64 bytes of cuIpcGetMemHandle, because only a
//     process on this machine can send a descriptor
//
// The supervisor has no part in this, because the memory does not belong to the
// daemon. INVALID_ARGUMENT: the descriptor is not device memory, or the memory
// is smaller than the command says. NOT_FOUND: no descriptor has the command's
// token. UNIMPLEMENTED: the command names no descriptor.
absl::StatusOr<std::shared_ptr<ImportedMemory>> ImportForeign(
    Resources& resources, const v1::ImportResource& command);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SHARING_FOREIGN_MEMORY_H_
