// SPDX-License-Identifier: Apache-2.0
//
// Entry points: definitions of graphs, their nodes and dependencies.
#include "core/software/driver/graph/graph.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "core/software/driver/api/graph_call.h"
#include "core/software/driver/graph/dot.h"

namespace holdfast::software {

bool FindDependencies(Driver& driver, const CUgraphNode* nodes,
                      const CUgraphEdgeData* data, size_t count,
                      std::vector<GraphEdge>* dependencies) {
  if (nodes == nullptr && count > 0) return false;
  for (size_t i = 0; i < count; ++i) {
    const std::shared_ptr<GraphNode> node = driver.graphs.nodes.Find(nodes[i]);
    if (node == nullptr) return false;
    dependencies->push_back(
        {node.get(), data == nullptr ? CUgraphEdgeData{} : data[i]});
  }
  return true;
}

bool IsDefault(const CUgraphEdgeData& data) {
  return data.from_port == 0 && data.to_port == 0 && data.type == 0;
}

}  // namespace holdfast::software

using namespace holdfast::software;

namespace {

// Hands a list to the application by CUDA's rule: without a place for it the
// count alone; else as many as fit, and zeros behind them.
template <typename Value>
void Deliver(const std::vector<Value>& values, Value* place, size_t room) {
  if (place == nullptr) return;
  const size_t count = std::min(room, values.size());
  std::copy_n(values.begin(), count, place);
  std::fill(place + count, place + room, Value{});
}

CUresult DeliverNodes(const std::vector<CUgraphNode>& nodes, CUgraphNode* place,
                      size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Deliver(nodes, place, *count);
  *count = place == nullptr ? nodes.size() : std::min(*count, nodes.size());
  return CUDA_SUCCESS;
}

// One end of the edges of a node.
CUresult DeliverEdges(const std::vector<GraphEdge>& edges, CUgraphNode* nodes,
                      CUgraphEdgeData* data, size_t* count) {
  if (count == nullptr || (nodes == nullptr && data != nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<CUgraphNode> ends;
  std::vector<CUgraphEdgeData> annotations;
  for (const GraphEdge& edge : edges) {
    if (nodes != nullptr && data == nullptr && !IsDefault(edge.data)) {
      return CUDA_ERROR_LOSSY_QUERY;
    }
    ends.push_back(edge.node->handle);
    annotations.push_back(edge.data);
  }
  Deliver(annotations, data, *count);
  return DeliverNodes(ends, nodes, count);
}

// Adds or removes edges one by one; those before one that fails stay changed
// no longer than the call.
template <typename Change, typename Undo>
CUresult ChangeEdges(CUgraph handle, const CUgraphNode* from,
                     const CUgraphNode* to, const CUgraphEdgeData* data,
                     size_t count, Change change, Undo undo) {
  return WithGraph(handle, [&](Driver& driver, Graph& graph) {
    std::vector<GraphEdge> begins, ends;
    if (!FindDependencies(driver, from, data, count, &begins) ||
        !FindDependencies(driver, to, nullptr, count, &ends)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < count; ++i) {
      const CUresult result =
          change(graph, begins[i].node, ends[i].node, begins[i].data);
      if (result == CUDA_SUCCESS) continue;
      while (i-- > 0) {
        undo(graph, begins[i].node, ends[i].node, begins[i].data);
      }
      return result;
    }
    return CUDA_SUCCESS;
  });
}

CUresult Add(Graph& graph, GraphNode* from, GraphNode* to,
             const CUgraphEdgeData& data) {
  return graph.AddEdge(from, to, data);
}
CUresult Remove(Graph& graph, GraphNode* from, GraphNode* to,
                const CUgraphEdgeData& data) {
  // The order of allocations and frees must hold.
  return graph.has_memory_nodes() ? CUDA_ERROR_NOT_SUPPORTED
                                  : graph.RemoveEdge(from, to, data);
}

}  // namespace

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return WithDefinitions([&](Driver& driver) {
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = Publish(driver.graphs, std::make_shared<Graph>(&driver.graphs));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return WithGraph(handle, [&](Driver&, Graph& graph) {
    // A graph within another goes with its node.
    if (graph.owner() != nullptr) return CUDA_ERROR_INVALID_VALUE;
    graph.Withdraw();
    graph.user_objects = holdfast::cuda::UserReferences();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return WithGraph(original, [&](Driver& driver, Graph& graph) {
    if (clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!graph.can_be_cloned()) return CUDA_ERROR_NOT_SUPPORTED;
    *clone = Publish(driver.graphs, graph.Clone(&driver.graphs));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original,
                                CUgraph clone) {
  return WithGraph(clone, [&](Driver&, Graph& graph) {
    if (AnyNull(node, original)) return CUDA_ERROR_INVALID_VALUE;
    for (const std::shared_ptr<GraphNode>& copy : graph.nodes()) {
      if (copy->origin != original) continue;
      *node = copy->handle;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return WithGraph(handle, [&](Driver&, Graph& graph) {
    std::vector<CUgraphNode> all;
    for (const auto& node : graph.nodes()) all.push_back(node->handle);
    return DeliverNodes(all, nodes, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes,
                             size_t* count) {
  return WithGraph(handle, [&](Driver&, Graph& graph) {
    std::vector<CUgraphNode> roots;
    for (const auto& node : graph.nodes()) {
      if (node->dependencies.empty()) roots.push_back(node->handle);
    }
    return DeliverNodes(roots, nodes, count);
  });
}

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* data, size_t* count) {
  return WithGraph(handle, [&](Driver&, Graph& graph) {
    if (count == nullptr || (from == nullptr) != (to == nullptr)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::vector<GraphEdge> ends;
    std::vector<CUgraphNode> begins;
    for (const auto& node : graph.nodes()) {
      for (const GraphEdge& edge : node->dependents) {
        begins.push_back(node->handle);
        ends.push_back(edge);
      }
    }
    const size_t room = *count;
    const CUresult result = DeliverEdges(ends, to, data, count);
    if (result == CUDA_SUCCESS) Deliver(begins, from, room);
    return result;
  });
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return WithNode(handle, [&](Driver&, GraphNode& node) {
    if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = node.type();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode* nodes,
                                       CUgraphEdgeData* data, size_t* count) {
  return WithNode(handle, [&](Driver&, GraphNode& node) {
    return DeliverEdges(node.dependencies, nodes, data, count);
  });
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode* nodes,
                                         CUgraphEdgeData* data, size_t* count) {
  return WithNode(handle, [&](Driver&, GraphNode& node) {
    return DeliverEdges(node.dependents, nodes, data, count);
  });
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                   const CUgraphNode* to,
                                   const CUgraphEdgeData* data, size_t count) {
  return ChangeEdges(graph, from, to, data, count, Add, Remove);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                      const CUgraphNode* to,
                                      const CUgraphEdgeData* data,
                                      size_t count) {
  return ChangeEdges(graph, from, to, data, count, Remove, Add);
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return WithNode(handle, [](Driver&, GraphNode& node) {
    if (node.graph->has_memory_nodes()) return CUDA_ERROR_NOT_SUPPORTED;
    node.graph->RemoveNode(&node);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path,
                              unsigned flags) {
  constexpr unsigned kFlags =
      2 * CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS - 1;
  std::string text;
  const CUresult result = WithGraph(handle, [&](Driver&, Graph& graph) {
    if (path == nullptr || (flags & ~kFlags) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    text = DotText(graph, flags);
    return CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS) return result;
  std::ofstream file(path);
  file << text;
  file.close();
  return file.good() ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

}  // extern "C"
