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
// client has handed a descriptor over on the session's descriptor socket: one
// of cuMemExportToShareableHandle, or a sealed memfd with the 64 bytes of
// cuIpcGetMemHandle. Handles come in a descriptor, too, since who can hand one
// over is on this machine. A descriptor of cuMemPoolExportToShareableHandle
// comes with the data of a pointer. The supervisor has no part in it, since the
// memory is not the daemon's. INVALID_ARGUMENT: the descriptor is no device
// memory, or has less than was said.
absl::StatusOr<std::shared_ptr<ImportedMemory>> ImportForeign(
    Resources& resources, const v1::ImportResource& command);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SHARING_FOREIGN_MEMORY_H_
