// SPDX-License-Identifier: Apache-2.0
#include "server/executor/graph/built_graph.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/cuda/kernel.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {
namespace {

template <typename T>
void SortUnique(std::vector<T>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

// Appends the way to a node; false: it is not here.
bool FindPath(const BuiltLevel& level, CUgraphNode wanted, NodePath* path) {
  for (const BuiltNode& node : level.nodes) {
    path->Enter(node.id);
    if (node.handle == wanted) return true;
    for (size_t i = 0; i < node.inner.size(); ++i) {
      if (node.operation == v1::GraphNode::kConditional) {
        path->SetBranch(static_cast<uint32_t>(i));
      }
      if (FindPath(node.inner[i], wanted, path)) return true;
    }
    path->Leave();
  }
  return false;
}

absl::Status ShapeDiffers(CUgraphExecUpdateResult result,
                          absl::string_view why) {
  const char* name = cuda::UpdateResultName(result);
  absl::Status status = absl::FailedPreconditionError(
      absl::StrCat(why, " than in the instantiated graph: ", name));
  ErrorDetail detail;
  detail.graph_update_result = name;
  SetErrorDetail(detail, &status);
  return status;
}

absl::Status CompareShapes(const BuiltLevel& level, const BuiltLevel& other,
                           NodePath* path) {
  if (level.nodes.size() != other.nodes.size()) {
    return AtNode(*path,
                  ShapeDiffers(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
                               absl::StrCat(level.nodes.size(),
                                            " nodes stand here, other")));
  }
  for (size_t i = 0; i < level.nodes.size(); ++i) {
    const BuiltNode& node = level.nodes[i];
    const BuiltNode& old = other.nodes[i];
    path->Enter(node.id);
    if (node.parameters.type() != old.parameters.type() ||
        node.inner.size() != old.inner.size()) {
      return AtNode(*path,
                    ShapeDiffers(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED,
                                 "the node is of another kind"));
    }
    if (node.after != old.after) {
      return AtNode(*path,
                    ShapeDiffers(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
                                 "the node comes after others"));
    }
    for (size_t j = 0; j < node.inner.size(); ++j) {
      if (node.operation == v1::GraphNode::kConditional) {
        path->SetBranch(static_cast<uint32_t>(j));
      }
      HOLDFAST_RETURN_IF_ERROR(
          CompareShapes(node.inner[j], old.inner[j], path));
    }
    path->Leave();
  }
  return absl::OkStatus();
}

}  // namespace

void KernelNames::Add(const NodeUses& uses) {
  if (uses.kernel == nullptr || names_.size() == kMaxNames) return;
  const std::string& name = uses.kernel->name();
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
    names_.push_back(name);
  }
}

const BuiltNode* BuiltLevel::Find(uint32_t id) const {
  const std::optional<uint32_t> position = index.Find(id);
  return position.has_value() ? &nodes[*position] : nullptr;
}

void BuiltGraph::SumUses(const BuiltLevel& level, bool in_branch) {
  for (const BuiltNode& node : level.nodes) {
    peers_.insert(peers_.end(), node.uses.peers.begin(), node.uses.peers.end());
    if (node.uses.recorded != nullptr) recorded_.push_back(node.uses.recorded);
    kernels_.Add(node.uses);
    if (node.uses.awaited.has_value()) waiting_.push_back(&node);
    if (node.uses.copied_bytes > 0 && !in_branch) {
      CopySum& sum = copies_[static_cast<size_t>(node.uses.copy_path)];
      ++sum.copies;
      sum.bytes += node.uses.copied_bytes;
    }
    for (const BuiltLevel& inner : node.inner) {
      SumUses(inner,
              in_branch || node.operation == v1::GraphNode::kConditional);
    }
  }
}

void BuiltGraph::SumUses() {
  SumUses(nodes_, /*in_branch=*/false);
  SortUnique(&peers_);
  SortUnique(&recorded_);
}

absl::Status BuiltGraph::CheckSameShape(const BuiltGraph& other) const {
  NodePath path;
  return CompareShapes(nodes_, other.nodes_, &path);
}

NodePath BuiltGraph::PathOf(CUgraphNode node) const {
  NodePath path;
  if (node != nullptr) FindPath(nodes_, node, &path);
  return path;
}

void BuiltGraph::Release(Resources& resources,
                         std::shared_ptr<const BuiltGraph> graph) {
  if (graph.use_count() > 1) return;
  std::vector<Hold> holds = graph->holds_.holds();
  // The graph holds as well, until it is gone.
  graph.reset();
  resources.Release(std::move(holds));
}

}  // namespace holdfast::executor
