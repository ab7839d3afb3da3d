// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/handle_uses.h"

#include "core/base/handle.h"

namespace holdfast {
namespace {

using Replace = absl::FunctionRef<uint64_t(HandleUse, uint64_t)>;

void ReplaceAttribute(v1::LaunchAttribute& attribute, Replace replace) {
  if (attribute.has_launch_completion_event()) {
    auto& event = *attribute.mutable_launch_completion_event();
    event.set_event(replace(HandleUse::kEvent, event.event()));
  } else if (attribute.has_programmatic_event()) {
    auto& event = *attribute.mutable_programmatic_event();
    event.set_event(replace(HandleUse::kEvent, event.event()));
  } else if (attribute.has_access_policy_window()) {
    auto& window = *attribute.mutable_access_policy_window();
    window.set_buffer(replace(HandleUse::kBuffer, window.buffer()));
  }
}

void ReplaceLaunch(v1::Launch& launch, Replace replace) {
  launch.set_kernel(replace(HandleUse::kKernel, launch.kernel()));
  for (v1::LaunchAttribute& attribute : *launch.mutable_attributes()) {
    ReplaceAttribute(attribute, replace);
  }
  for (v1::Argument& argument : *launch.mutable_arguments()) {
    if (!argument.has_buffer() || argument.buffer().buffer() == 0) continue;
    v1::BufferArgument& buffer = *argument.mutable_buffer();
    buffer.set_buffer(replace(HandleUse::kBuffer, buffer.buffer()));
  }
}

// For a message that names one buffer, event or semaphore.
template <typename Message>
void ReplaceBuffer(Message& message, Replace replace) {
  message.set_buffer(replace(HandleUse::kBuffer, message.buffer()));
}
template <typename Message>
void ReplaceEvent(Message& message, Replace replace) {
  message.set_event(replace(HandleUse::kEvent, message.event()));
}
template <typename Message>
void ReplaceSemaphore(Message& message, Replace replace) {
  message.set_semaphore(replace(HandleUse::kSemaphore, message.semaphore()));
}

void ReplaceCopy(v1::CopyBuffer& copy, Replace replace) {
  copy.set_destination(replace(HandleUse::kBuffer, copy.destination()));
  copy.set_source(replace(HandleUse::kBuffer, copy.source()));
}

}  // namespace

absl::string_view HandleUseName(HandleUse use) {
  switch (use) {
    case HandleUse::kKernel:
      return "kernel";
    case HandleUse::kBuffer:
      return "buffer";
    case HandleUse::kEvent:
      return "event";
    case HandleUse::kSemaphore:
      return "semaphore";
  }
  return "handle";
}

uint64_t HandleNumber(uint64_t handle) {
  return Handle::Unpack(handle).kind == HandleKind::kNone
             ? handle
             : Handle::Unpack(handle).index;
}

void ReplaceHandles(v1::GraphNode& node, Replace replace) {
  switch (node.operation_case()) {
    case v1::GraphNode::kLaunch:
      return ReplaceLaunch(*node.mutable_launch(), replace);
    case v1::GraphNode::kCopy:
      return ReplaceCopy(*node.mutable_copy(), replace);
    case v1::GraphNode::kFill:
      return ReplaceBuffer(*node.mutable_fill(), replace);
    case v1::GraphNode::kRecord:
      return ReplaceEvent(*node.mutable_record(), replace);
    case v1::GraphNode::kWait:
      return ReplaceEvent(*node.mutable_wait(), replace);
    case v1::GraphNode::kCopyRect:
      ReplaceBuffer(*node.mutable_copy_rect()->mutable_destination(), replace);
      return ReplaceBuffer(*node.mutable_copy_rect()->mutable_source(),
                           replace);
    case v1::GraphNode::kFillRect:
      return ReplaceBuffer(*node.mutable_fill_rect()->mutable_destination(),
                           replace);
    case v1::GraphNode::kAllocation:
      return ReplaceBuffer(*node.mutable_allocation(), replace);
    case v1::GraphNode::kFree:
      return ReplaceBuffer(*node.mutable_free(), replace);
    case v1::GraphNode::kSignalSemaphore:
      return ReplaceSemaphore(*node.mutable_signal_semaphore(), replace);
    case v1::GraphNode::kWaitSemaphore:
      return ReplaceSemaphore(*node.mutable_wait_semaphore(), replace);
    case v1::GraphNode::kValueBatch:
      for (auto& value : *node.mutable_value_batch()->mutable_operations()) {
        ReplaceBuffer(value, replace);
      }
      return;
    case v1::GraphNode::kEmpty:
    case v1::GraphNode::kChild:
    case v1::GraphNode::kConditional:
    case v1::GraphNode::OPERATION_NOT_SET:
      return;
  }
}

}  // namespace holdfast
