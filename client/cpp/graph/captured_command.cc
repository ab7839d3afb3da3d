// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/captured_command.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

using Nodes = std::vector<v1::GraphNode>;

// A copy between an arena and a buffer, in either direction.
v1::GraphNode CopyNode(uint64_t destination, uint64_t destination_offset,
                       uint64_t source, uint64_t source_offset, uint64_t size) {
  v1::GraphNode node;
  v1::CopyBuffer& copy = *node.mutable_copy();
  copy.set_destination(destination);
  copy.set_destination_offset(destination_offset);
  copy.set_source(source);
  copy.set_source_offset(source_offset);
  copy.set_size(size);
  return node;
}

Nodes CopyNodes(const v1::CopyBatch& batch) {
  Nodes nodes;
  for (const v1::BatchedCopy& copy : batch.copies()) {
    nodes.push_back(CopyNode(copy.destination(), copy.destination_offset(),
                             copy.source(), copy.source_offset(), copy.size()));
  }
  return nodes;
}

// An operation that is the same message in a command and in a node; a node
// names no stream.
template <typename Operation>
Nodes Same(const Operation& operation,
           Operation* (v1::GraphNode::*mutable_operation)()) {
  v1::GraphNode node;
  Operation& copy = *(node.*mutable_operation)();
  copy = operation;
  copy.clear_stream();
  return {std::move(node)};
}

// On a stream a launch may be allowed to begin before the one ahead has ended
// (programmatic_stream_serialization). In a graph that is for an edge to allow;
// ours wait for the whole of the node ahead, which the launch has to bear with
// on a stream, too.
Nodes LaunchNodes(const v1::Launch& launch) {
  Nodes nodes = Same(launch, &v1::GraphNode::mutable_launch);
  auto& attributes = *nodes.front().mutable_launch()->mutable_attributes();
  attributes.erase(
      std::remove_if(attributes.begin(), attributes.end(),
                     [](const v1::LaunchAttribute& attribute) {
                       return attribute.has_programmatic_stream_serialization();
                     }),
      attributes.end());
  return nodes;
}

absl::Status Refuse(const v1::Command& command) {
  const auto* field = command.GetReflection()->GetOneofFieldDescriptor(
      command, command.GetDescriptor()->oneof_decl(0));
  return absl::FailedPreconditionError(
      absl::StrCat("a graph has no node for ",
                   field == nullptr ? "an empty command" : field->name()));
}

}  // namespace

absl::StatusOr<Nodes> ToNodes(const v1::Command& command) {
  switch (command.operation_case()) {
    case v1::Command::kLaunch:
      return LaunchNodes(command.launch());
    case v1::Command::kCopyBuffer:
      return Same(command.copy_buffer(), &v1::GraphNode::mutable_copy);
    case v1::Command::kFillBuffer:
      return Same(command.fill_buffer(), &v1::GraphNode::mutable_fill);
    case v1::Command::kCopyRect:
      return Same(command.copy_rect(), &v1::GraphNode::mutable_copy_rect);
    case v1::Command::kFillRect:
      return Same(command.fill_rect(), &v1::GraphNode::mutable_fill_rect);
    case v1::Command::kSignalSemaphore:
      return Same(command.signal_semaphore(),
                  &v1::GraphNode::mutable_signal_semaphore);
    case v1::Command::kWaitSemaphore:
      return Same(command.wait_semaphore(),
                  &v1::GraphNode::mutable_wait_semaphore);
    case v1::Command::kCopyBatch:
      return CopyNodes(command.copy_batch());
    case v1::Command::kCopyIn: {
      const v1::CopyIn& copy = command.copy_in();
      return Nodes{CopyNode(copy.buffer(), copy.offset(), copy.arena(),
                            copy.arena_offset(), copy.size())};
    }
    case v1::Command::kCopyOut: {
      const v1::CopyOut& copy = command.copy_out();
      return Nodes{CopyNode(copy.arena(), copy.arena_offset(), copy.buffer(),
                            copy.offset(), copy.size())};
    }
    case v1::Command::kLaunchGraph:
      return absl::FailedPreconditionError(
          "the launch of a graph cannot be captured: add its definition to the "
          "capture (StreamCapture::Add, ChildNode)");
    default:
      return Refuse(command);
  }
}

}  // namespace holdfast
