// SPDX-License-Identifier: Apache-2.0
#include "server/executor/graph/drawing.h"

#include "absl/strings/str_cat.h"

namespace holdfast::executor {
namespace {

const char* TypeName(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "MEMSET";
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "GRAPH";
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return "EMPTY";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "EVENT_WAIT";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "EVENT_RECORD";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return "BATCH_MEM_OP";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return "CONDITIONAL";
    default:
      return "NODE";
  }
}

// As CUDA's: an allocation is an empty node here (see GraphAllocations).
const char* NameOf(const BuiltNode& node) {
  if (node.operation == v1::GraphNode::kAllocation) return "MEM_ALLOC";
  if (node.operation == v1::GraphNode::kFree) return "MEM_FREE";
  return TypeName(node.parameters.type());
}

const char* NameOf(CUgraphConditionalNodeType type) {
  switch (type) {
    case CU_GRAPH_COND_TYPE_WHILE:
      return "WHILE";
    case CU_GRAPH_COND_TYPE_SWITCH:
      return "SWITCH";
    default:
      return "IF";
  }
}

// "16x1x1"
std::string Size(uint64_t x, uint64_t y, uint64_t z) {
  return absl::StrCat(x, "x", y, "x", z);
}

class Drawing {
 public:
  Drawing(const cuda::DriverApi& api, bool verbose)
      : api_(api), verbose_(verbose) {}

  std::string Draw(const BuiltLevel& nodes) {
    DrawLevel(nodes, "n", 2);
    return absl::StrCat("digraph dot {\n  node [shape=record];\n", text_,
                        "}\n");
  }

 private:
  // Node 3 of a level is `prefix` + "3".
  void DrawLevel(const BuiltLevel& level, const std::string& prefix,
                 int indent) {
    const std::string margin(static_cast<size_t>(indent), ' ');
    for (const BuiltNode& node : level.nodes) {
      const std::string name = absl::StrCat(prefix, node.id);
      absl::StrAppend(&text_, margin, name, " [label=\"{", node.id, "|",
                      NameOf(node), verbose_ ? ParametersOf(node) : "",
                      "}\"];\n");
      for (const uint32_t before : node.after) {
        absl::StrAppend(&text_, margin, prefix, level.nodes[before].id, " -> ",
                        name, ";\n");
      }
      for (size_t i = 0; i < node.inner.size(); ++i) {
        DrawInner(node.inner[i], name, absl::StrCat(name, "_", i), indent);
      }
    }
  }

  // A child graph or a branch is a box, which a dashed edge leads to.
  void DrawInner(const BuiltLevel& inner, const std::string& node,
                 const std::string& name, int indent) {
    const std::string margin(static_cast<size_t>(indent), ' ');
    absl::StrAppend(&text_, margin, "subgraph cluster_", name, " {\n");
    DrawLevel(inner, name + "_", indent + 2);
    absl::StrAppend(&text_, margin, "}\n");
    for (const BuiltNode& root : inner.nodes) {
      if (!root.after.empty()) continue;
      absl::StrAppend(&text_, margin, node, " -> ", name, "_", root.id,
                      " [style=dashed];\n");
    }
  }

  std::string ParametersOf(const BuiltNode& node) const {
    const CUgraphNodeParams& params = node.parameters.params();
    switch (node.parameters.type()) {
      case CU_GRAPH_NODE_TYPE_KERNEL:
        return OfKernel(params.kernel);
      case CU_GRAPH_NODE_TYPE_MEMCPY: {
        const CUDA_MEMCPY3D& copy = params.memcpy.copyParams;
        return absl::StrCat("|extent ",
                            Size(copy.WidthInBytes, copy.Height, copy.Depth));
      }
      case CU_GRAPH_NODE_TYPE_MEMSET:
        return absl::StrCat("|value ", params.memset.value, ", ",
                            params.memset.width, "x", params.memset.height,
                            " of ", params.memset.elementSize, " bytes");
      case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return absl::StrCat("|", NameOf(params.conditional.type));
      default:
        return "";
    }
  }

  std::string OfKernel(const CUDA_KERNEL_NODE_PARAMS_v3& launch) const {
    const char* name = nullptr;
    if (api_.cuKernelGetName == nullptr ||
        api_.cuKernelGetName(&name, launch.kern) != CUDA_SUCCESS) {
      name = "?";
    }
    return absl::StrCat(
        "|", name, "|grid ",
        Size(launch.gridDimX, launch.gridDimY, launch.gridDimZ), ", block ",
        Size(launch.blockDimX, launch.blockDimY, launch.blockDimZ), ", ",
        launch.sharedMemBytes, " bytes shared");
  }

  const cuda::DriverApi& api_;
  const bool verbose_;
  std::string text_;
};

}  // namespace

std::string Draw(const BuiltGraph& graph, bool verbose) {
  return Drawing(graph.graph()->context().api(), verbose).Draw(graph.nodes());
}

}  // namespace holdfast::executor
