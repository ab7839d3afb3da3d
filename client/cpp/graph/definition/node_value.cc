// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/definition/node_value.h"

#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast {

NodeParams::NodeParams(v1::GraphNode node) {
  node.clear_id();
  node.clear_after();
  fields_ = node.SerializeAsString();
  if (node.has_child() || node.has_conditional()) {
    nested_ = std::make_shared<const v1::GraphNode>(std::move(node));
  }
}

NodeParams NodeParams::FromFields(absl::string_view fields) {
  NodeParams params;
  params.fields_.assign(fields.data(), fields.size());
  return params;
}

v1::GraphNode NodeParams::proto() const {
  if (nested_ != nullptr) return *nested_;
  v1::GraphNode node;
  node.ParseFromString(fields_);
  return node;
}

NodeParams NodeParams::On(uint32_t device) && {
  if (!status_.ok()) return std::move(*this);
  v1::GraphNode node;
  if (nested_ != nullptr) {
    node = *nested_;
    node.set_device(device);
    return NodeParams(std::move(node));
  }
  // The last of several values counts.
  node.set_device(device);
  node.AppendToString(&fields_);
  return std::move(*this);
}

}  // namespace holdfast
