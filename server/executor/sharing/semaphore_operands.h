// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SHARING_SEMAPHORE_OPERANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_SHARING_SEMAPHORE_OPERANDS_H_

#include "absl/status/statusor.h"
#include "holdfast/v1/semaphore_commands.pb.h"
#include "server/executor/command/operand_scope.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// Returns the semaphore that an operation on the scope's device signals or
// waits for. Valid until the next new handle of a semaphore. INVALID_ARGUMENT:
// the semaphore belongs to another device. PERMISSION_DENIED: the operation
// signals a semaphore that was imported for reading. Otherwise fails as
// HandleTable::Find.
absl::StatusOr<SemaphoreResource*> ResolveSemaphore(
    const OperandScope& scope, const v1::SignalSemaphore& signal);
absl::StatusOr<SemaphoreResource*> ResolveSemaphore(
    const OperandScope& scope, const v1::WaitSemaphore& wait);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SHARING_SEMAPHORE_OPERANDS_H_
