// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/definition/node_kind.h"

namespace holdfast {

absl::string_view NodeKindName(const v1::GraphNode& node) {
  switch (node.operation_case()) {
    case v1::GraphNode::kLaunch:
      return "launch";
    case v1::GraphNode::kCopy:
      return "copy";
    case v1::GraphNode::kFill:
      return "fill";
    case v1::GraphNode::kRecord:
      return "record";
    case v1::GraphNode::kWait:
      return "wait";
    case v1::GraphNode::kEmpty:
      return "empty";
    case v1::GraphNode::kChild:
      return "child";
    case v1::GraphNode::kConditional:
      return "conditional";
    case v1::GraphNode::kCopyRect:
      return "copy rect";
    case v1::GraphNode::kFillRect:
      return "fill rect";
    case v1::GraphNode::kAllocation:
      return "allocation";
    case v1::GraphNode::kFree:
      return "free";
    case v1::GraphNode::kSignalSemaphore:
      return "signal semaphore";
    case v1::GraphNode::kWaitSemaphore:
      return "wait semaphore";
    case v1::GraphNode::kValueBatch:
      return "value batch";
    case v1::GraphNode::OPERATION_NOT_SET:
      break;
  }
  return "node without an operation";
}

}  // namespace holdfast
