// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/operand_scope.h"

#include "absl/strings/str_cat.h"
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

absl::Status CheckPeerAccess(const OperandScope& scope, uint64_t handle,
                             uint32_t owner) {
  if (owner == scope.device) [[likely]]
    return absl::OkStatus();
  if (!scope.resources.peers.Allows(scope.device, owner)) {
    return absl::FailedPreconditionError(absl::StrCat(
        DescribeHandle(handle), " is on device ", owner,
        ", the operation runs on device ", scope.device,
        ", which has no access to the other's memory: enable it first "
        "(EnablePeerAccess)"));
  }
  if (scope.uses != nullptr) {
    scope.uses->peers.emplace_back(scope.device, owner);
  }
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
  found->recorded_by_work = true;
  return found->event;
}

}  // namespace holdfast::executor
