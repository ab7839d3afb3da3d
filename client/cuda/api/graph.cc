// SPDX-License-Identifier: Apache-2.0
//
// Entry points: definitions of graphs, their nodes and edges.
#include "client/cuda/graph/graph.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "client/cuda/api/graph_call.h"
#include "client/cuda/graph/dot.h"

namespace holdfast::libcuda {

bool FindEdges(Process& process, const CUgraphNode* nodes,
               const CUgraphEdgeData* data, size_t count,
               std::vector<Edge>* edges) {
  if (nodes == nullptr && count > 0) return false;
  for (size_t i = 0; i < count; ++i) {
    const std::shared_ptr<Node> node = process.graphs.nodes.Find(nodes[i]);
    if (node == nullptr) return false;
    edges->push_back(
        {node.get(), data == nullptr ? CUgraphEdgeData{} : data[i]});
  }
  return true;
}

}  // namespace holdfast::libcuda

using namespace holdfast::libcuda;

namespace {

// Gives the program a list as CUDA does: as many as fit, and zeros behind them.
// A null `place` gets none.
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

// The far ends of edges.
CUresult DeliverEdges(const std::vector<Edge>& edges, CUgraphNode* nodes,
                      CUgraphEdgeData* data, size_t* count) {
  if (count == nullptr || (nodes == nullptr && data != nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<CUgraphNode> ends;
  std::vector<CUgraphEdgeData> all_data;
  for (const Edge& edge : edges) {
    if (nodes != nullptr && data == nullptr && !IsPlain(edge.data)) {
      return CUDA_ERROR_LOSSY_QUERY;
    }
    ends.push_back(edge.node->handle);
    all_data.push_back(edge.data);
  }
  Deliver(all_data, data, *count);
  return DeliverNodes(ends, nodes, count);
}

using EdgeChange = CUresult (*)(Graph&, Node*, Node*, const CUgraphEdgeData&);

CUresult AddEdge(Graph& graph, Node* from, Node* to,
                 const CUgraphEdgeData& data) {
  return graph.AddEdge(from, to, data);
}
// An allocation and its free have to stay in their order.
CUresult RemoveEdge(Graph& graph, Node* from, Node* to,
                    const CUgraphEdgeData& data) {
  return graph.has_memory_nodes() ? CUDA_ERROR_NOT_SUPPORTED
                                  : graph.RemoveEdge(from, to, data);
}

CUresult UndoAddEdge(Graph& graph, Node* from, Node* to,
                     const CUgraphEdgeData& data) {
  return graph.RemoveEdge(from, to, data);
}

// Changes all edges, or none.
CUresult ChangeEdges(CUgraph handle, const CUgraphNode* from,
                     const CUgraphNode* to, const CUgraphEdgeData* data,
                     size_t count, EdgeChange change, EdgeChange undo) {
  return WithGraph(handle, [&](Process& process, Graph& graph) {
    std::vector<Edge> begins, ends;
    if (!FindEdges(process, from, data, count, &begins) ||
        !FindEdges(process, to, nullptr, count, &ends)) {
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

}  // namespace

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return WithDefinitions([&](Process& process) {
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = Graph::Publish(process.graphs,
                            std::make_shared<Graph>(&process.graphs));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return WithDefinitions([&](Process& process) {
    const std::shared_ptr<Graph> ended = process.graphs.graphs.Find(handle);
    // A graph in another goes with its node.
    if (ended == nullptr || ended->owner() != nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    ended->Withdraw();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return WithGraph(original, [&](Process& process, Graph& graph) {
    if (clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (graph.has_memory_nodes() || graph.has_conditional_nodes()) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    *clone = Graph::Publish(process.graphs, graph.Clone(&process.graphs));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original,
                                CUgraph clone) {
  return WithGraph(clone, [&](Process&, Graph& graph) {
    if (AnyNull(node, original)) return CUDA_ERROR_INVALID_VALUE;
    for (const std::shared_ptr<Node>& copy : graph.nodes()) {
      if (copy->origin != original) continue;
      *node = copy->handle;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return WithGraph(handle, [&](Process&, Graph& graph) {
    std::vector<CUgraphNode> all;
    for (const auto& node : graph.nodes()) all.push_back(node->handle);
    return DeliverNodes(all, nodes, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes,
                             size_t* count) {
  return WithGraph(handle, [&](Process&, Graph& graph) {
    std::vector<CUgraphNode> roots;
    for (const auto& node : graph.nodes()) {
      if (node->dependencies.empty()) roots.push_back(node->handle);
    }
    return DeliverNodes(roots, nodes, count);
  });
}

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* data, size_t* count) {
  return WithGraph(handle, [&](Process&, Graph& graph) {
    if (count == nullptr || (from == nullptr) != (to == nullptr)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::vector<CUgraphNode> begins;
    std::vector<Edge> ends;
    for (const auto& node : graph.nodes()) {
      for (const Edge& edge : node->dependents) {
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
  return WithNode(handle, [&](Process&, Node& node) {
    if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = node.type();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode* nodes,
                                       CUgraphEdgeData* data, size_t* count) {
  return WithNode(handle, [&](Process&, Node& node) {
    return DeliverEdges(node.dependencies, nodes, data, count);
  });
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode* nodes,
                                         CUgraphEdgeData* data, size_t* count) {
  return WithNode(handle, [&](Process&, Node& node) {
    return DeliverEdges(node.dependents, nodes, data, count);
  });
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                   const CUgraphNode* to,
                                   const CUgraphEdgeData* data, size_t count) {
  return ChangeEdges(graph, from, to, data, count, AddEdge, UndoAddEdge);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                      const CUgraphNode* to,
                                      const CUgraphEdgeData* data,
                                      size_t count) {
  return ChangeEdges(graph, from, to, data, count, RemoveEdge, AddEdge);
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return WithNode(handle, [](Process&, Node& node) {
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
  const CUresult result = WithGraph(handle, [&](Process&, Graph& graph) {
    if (path == nullptr || (flags & ~kFlags) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    text = DrawGraph(graph, flags);
    return CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS) return result;
  std::ofstream file(path);
  file << text;
  file.close();
  return file.good() ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

}  // extern "C"
