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
// client has sent a descriptor on the session's descriptor socket: from
// cuMemExportToShareableHandle, from cuMemPoolExportToShareableHandle (the
// command then has the data of a pointer), or of a sealed memfd with the 64
// bytes of cuIpcGetMemHandle. An IPC handle also needs a descriptor, because
// only a process on this machine can send one. The supervisor is not asked,
// because the memory is not the daemon's. INVALID_ARGUMENT: the descriptor is
// not device memory, or the memory is smaller than the command says. NOT_FOUND:
// no descriptor has this token.
absl::StatusOr<std::shared_ptr<ImportedMemory>> ImportForeign(
    Resources& resources, const v1::ImportResource& command);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SHARING_FOREIGN_MEMORY_H_
