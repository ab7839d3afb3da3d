// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SHARING_REOPEN_H_
#define HOLDFAST_SERVER_EXECUTOR_SHARING_REOPEN_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "server/executor/imports/imported_memory.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// Maps on a device the memory that the last executor had imported under
// `handle`. Asks the supervisor for the import by its number, because the token
// may be used up; blocks until the answer. NOT_FOUND: there was no such import,
// or it was released. REQUIRES: resources.devices.restoring().
absl::StatusOr<std::shared_ptr<ImportedMemory>> Reopen(Resources& resources,
                                                       uint64_t handle,
                                                       uint32_t device);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SHARING_REOPEN_H_
