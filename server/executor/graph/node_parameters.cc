// SPDX-License-Identifier: Apache-2.0
#include "server/executor/graph/node_parameters.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/executor/command/copy_operands.h"
#include "server/executor/command/fill_operands.h"
#include "server/executor/command/launch_operands.h"
#include "server/executor/command/value_operands.h"
#include "server/executor/resources/resources.h"
#include "server/executor/sharing/semaphore_operands.h"

namespace holdfast::executor {
namespace {

// INVALID_ARGUMENT: a graph's nodes run where the graph is launched.
template <typename Message>
absl::Status CheckNoStream(const Message& message) {
  if (message.stream() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a node of a graph has no stream, but ",
                   DescribeHandle(message.stream()), " is given"));
}

absl::StatusOr<cuda::GraphNode> Launch(const OperandScope& scope,
                                       const v1::Launch& launch) {
  HOLDFAST_RETURN_IF_ERROR(CheckNoStream(launch));
  LaunchOperands operands;
  HOLDFAST_RETURN_IF_ERROR(operands.Resolve(scope, launch));
  return cuda::GraphNode::Launch(operands.config(), operands.kernel(),
                                 operands.arguments());
}

// The context that runs a copy: of the node's device, if that is fixed, or of
// either side's memory.
absl::StatusOr<const cuda::Context*> RunnerOf(const OperandScope& scope,
                                              bool device_is_fixed,
                                              const CopyOperand& destination,
                                              const CopyOperand& source) {
  uint32_t device = scope.device;
  if (!device_is_fixed) {
    device = destination.device.value_or(source.device.value_or(device));
  }
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * state,
                            scope.resources.devices.Open(device));
  return state->context.get();
}

absl::StatusOr<cuda::GraphNode> Copy(const OperandScope& scope,
                                     const v1::CopyBuffer& message,
                                     bool device_is_fixed) {
  HOLDFAST_RETURN_IF_ERROR(CheckNoStream(message));
  HOLDFAST_ASSIGN_OR_RETURN(const CopyOperands copy,
                            ResolveCopy(scope, message));
  if (copy.size == 0) return cuda::GraphNode();
  scope.uses->copied_bytes = copy.size;
  scope.uses->copy_path = PathOf(copy.destination, copy.source);
  HOLDFAST_ASSIGN_OR_RETURN(
      const cuda::Context* context,
      RunnerOf(scope, device_is_fixed, copy.destination, copy.source));
  const cuda::Pitches pitches = {copy.size, copy.size};
  return cuda::GraphNode::Copy(*context, {copy.size},
                               {copy.destination.address, pitches, context},
                               {copy.source.address, pitches, context});
}

absl::StatusOr<cuda::GraphNode> Copy(const OperandScope& scope,
                                     const v1::CopyRect& message,
                                     bool device_is_fixed) {
  HOLDFAST_RETURN_IF_ERROR(CheckNoStream(message));
  HOLDFAST_ASSIGN_OR_RETURN(const BoxCopyOperands copy,
                            ResolveCopy(scope, message));
  const BoxOperand& to = copy.destination;
  const BoxOperand& from = copy.source;
  scope.uses->copied_bytes = copy.box.width * copy.box.height * copy.box.depth;
  scope.uses->copy_path = PathOf(to.place, from.place);
  HOLDFAST_ASSIGN_OR_RETURN(
      const cuda::Context* context,
      RunnerOf(scope, device_is_fixed, to.place, from.place));
  return cuda::GraphNode::Copy(*context, copy.box,
                               {to.place.address, to.pitches, context},
                               {from.place.address, from.pitches, context});
}

template <typename Message>
absl::StatusOr<cuda::GraphNode> Fill(const OperandScope& scope,
                                     const Message& message) {
  HOLDFAST_RETURN_IF_ERROR(CheckNoStream(message));
  HOLDFAST_ASSIGN_OR_RETURN(const FillOperands fill,
                            ResolveFill(scope, message));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            scope.resources.devices.Open(scope.device));
  auto node = cuda::GraphNode::Fill(*device->context, fill.box, fill.address,
                                    fill.pitches, fill.pattern.value,
                                    fill.pattern.bytes);
  if (node.ok() && fill.box.width == 0) return cuda::GraphNode();
  return node;
}

absl::StatusOr<cuda::GraphNode> Record(const OperandScope& scope,
                                       const v1::RecordEvent& record) {
  HOLDFAST_RETURN_IF_ERROR(CheckNoStream(record));
  HOLDFAST_ASSIGN_OR_RETURN(scope.uses->recorded,
                            ResolveEvent(scope, record.event()));
  return cuda::GraphNode::Record(*scope.uses->recorded);
}

absl::StatusOr<cuda::GraphNode> Wait(const OperandScope& scope,
                                     const v1::WaitEvent& wait) {
  HOLDFAST_RETURN_IF_ERROR(CheckNoStream(wait));
  HOLDFAST_ASSIGN_OR_RETURN(const auto event,
                            ResolveEvent(scope, wait.event()));
  return cuda::GraphNode::Wait(*event);
}

absl::StatusOr<cuda::GraphNode> Signal(const OperandScope& scope,
                                       const v1::SignalSemaphore& signal) {
  HOLDFAST_RETURN_IF_ERROR(CheckNoStream(signal));
  HOLDFAST_ASSIGN_OR_RETURN(const SemaphoreResource* semaphore,
                            ResolveSemaphore(scope, signal));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            scope.resources.devices.Open(scope.device));
  return cuda::GraphNode::WriteValue(*device->context, semaphore->address,
                                     signal.value());
}

absl::StatusOr<cuda::GraphNode> Wait(const OperandScope& scope,
                                     const v1::WaitSemaphore& wait) {
  HOLDFAST_RETURN_IF_ERROR(CheckNoStream(wait));
  HOLDFAST_ASSIGN_OR_RETURN(const SemaphoreResource* semaphore,
                            ResolveSemaphore(scope, wait));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            scope.resources.devices.Open(scope.device));
  scope.uses->awaited = {wait.semaphore(), wait.value()};
  return cuda::GraphNode::WaitValue(*device->context, semaphore->address,
                                    wait.value());
}

absl::StatusOr<cuda::GraphNode> Values(const OperandScope& scope,
                                       const v1::ValueBatch& batch) {
  HOLDFAST_RETURN_IF_ERROR(CheckNoStream(batch));
  HOLDFAST_ASSIGN_OR_RETURN(ValueOperands values, ResolveValues(scope, batch));
  if (values.operations.empty()) return cuda::GraphNode();
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            scope.resources.devices.Open(scope.device));
  scope.uses->awaited = values.awaited;
  return cuda::GraphNode::BatchValues(*device->context, values.operations);
}

}  // namespace

absl::StatusOr<cuda::GraphNode> ToNode(const OperandScope& scope,
                                       const v1::GraphNode& node,
                                       bool device_is_fixed) {
  switch (node.operation_case()) {
    case v1::GraphNode::kLaunch:
      return Launch(scope, node.launch());
    case v1::GraphNode::kCopy:
      return Copy(scope, node.copy(), device_is_fixed);
    case v1::GraphNode::kCopyRect:
      return Copy(scope, node.copy_rect(), device_is_fixed);
    case v1::GraphNode::kFill:
      return Fill(scope, node.fill());
    case v1::GraphNode::kFillRect:
      return Fill(scope, node.fill_rect());
    case v1::GraphNode::kRecord:
      return Record(scope, node.record());
    case v1::GraphNode::kWait:
      return Wait(scope, node.wait());
    case v1::GraphNode::kSignalSemaphore:
      return Signal(scope, node.signal_semaphore());
    case v1::GraphNode::kWaitSemaphore:
      return Wait(scope, node.wait_semaphore());
    case v1::GraphNode::kValueBatch:
      return Values(scope, node.value_batch());
    case v1::GraphNode::kEmpty:
    case v1::GraphNode::kAllocation:  // see GraphAllocations
    case v1::GraphNode::kFree:
      return cuda::GraphNode();
    default:
      return absl::InvalidArgumentError("a node without an operation");
  }
}

}  // namespace holdfast::executor
