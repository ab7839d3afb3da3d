// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/operand_scope.h"

#include "core/base/status_macros.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

absl::Status KeepMemory(const OperandScope& scope, uint64_t handle) {
  if (scope.holds == nullptr || !scope.holds->Insert(handle)) {
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(Hold hold, scope.resources.HoldMemory(handle));
  scope.holds->Add(std::move(hold));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<cuda::Event>> ResolveEvent(
    const OperandScope& scope, uint64_t handle) {
  HOLDFAST_ASSIGN_OR_RETURN(EventResource * found,
                            scope.resources.events.Find(handle));
  HOLDFAST_RETURN_IF_ERROR(CheckPlain(handle, *found));
  if (scope.holds != nullptr && scope.holds->Insert(handle)) {
    scope.holds->Add(std::shared_ptr<const void>(found->event));
  }
  return found->event;
}

}  // namespace holdfast::executor
