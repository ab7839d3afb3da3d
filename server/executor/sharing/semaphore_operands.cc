// SPDX-License-Identifier: Apache-2.0
#include "server/executor/sharing/semaphore_operands.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast::executor {
namespace {

// Only the device of a semaphore has it mapped.
absl::StatusOr<SemaphoreResource*> OnDevice(const OperandScope& scope,
                                            uint64_t handle) {
  HOLDFAST_ASSIGN_OR_RETURN(SemaphoreResource * semaphore,
                            scope.resources.semaphores.Find(handle));
  if (semaphore->device == scope.device) return semaphore;
  return absl::InvalidArgumentError(
      absl::StrCat(DescribeHandle(handle), " is of device ", semaphore->device,
                   ", the operation runs on device ", scope.device));
}

}  // namespace

absl::StatusOr<SemaphoreResource*> ResolveSemaphore(
    const OperandScope& scope, const v1::SignalSemaphore& signal) {
  HOLDFAST_ASSIGN_OR_RETURN(SemaphoreResource * semaphore,
                            OnDevice(scope, signal.semaphore()));
  if (semaphore->read_only) {
    return absl::PermissionDeniedError(absl::StrCat(
        DescribeHandle(signal.semaphore()), " was imported with RIGHTS_READ"));
  }
  HOLDFAST_RETURN_IF_ERROR(KeepMemory(scope, signal.semaphore()));
  return semaphore;
}

absl::StatusOr<SemaphoreResource*> ResolveSemaphore(
    const OperandScope& scope, const v1::WaitSemaphore& wait) {
  HOLDFAST_ASSIGN_OR_RETURN(SemaphoreResource * semaphore,
                            OnDevice(scope, wait.semaphore()));
  HOLDFAST_RETURN_IF_ERROR(KeepMemory(scope, wait.semaphore()));
  return semaphore;
}

}  // namespace holdfast::executor
