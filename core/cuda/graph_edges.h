// SPDX-License-Identifier: Apache-2.0
//
// Nodes and edges of graphs in the arguments of calls, for a driver whose edges
// are `Edge`: the node at the far end, and the edge's data.
#ifndef HOLDFAST_CORE_CUDA_GRAPH_EDGES_H_
#define HOLDFAST_CORE_CUDA_GRAPH_EDGES_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "cuda.h"

namespace holdfast::cuda {

// True for the data of an edge that is a full dependency.
bool IsPlain(const CUgraphEdgeData& data);

// Appends edges to the nodes that a program names. `data` null: all edges are
// plain. Returns false if a handle is no node of the table, or `handles` is
// null and `count` is not 0.
template <typename NodeTable, typename Edge>
bool FindEdges(const NodeTable& nodes, const CUgraphNode* handles,
               const CUgraphEdgeData* data, size_t count,
               std::vector<Edge>* edges) {
  if (handles == nullptr && count > 0) return false;
  for (size_t i = 0; i < count; ++i) {
    const auto node = nodes.Find(handles[i]);
    if (node == nullptr) return false;
    edges->push_back(
        {node.get(), data == nullptr ? CUgraphEdgeData{} : data[i]});
  }
  return true;
}

// Gives the program a list as CUDA does: as many as fit, and zeros behind them.
// A null `place` gets none.
template <typename Value>
void Deliver(const std::vector<Value>& values, Value* place, size_t room) {
  if (place == nullptr) return;
  const size_t count = std::min(room, values.size());
  std::copy_n(values.begin(), count, place);
  std::fill(place + count, place + room, Value{});
}

// The same for nodes. `*count` is the room, and becomes the number of nodes
// that were given, or that there are if `place` is null.
CUresult DeliverNodes(const std::vector<CUgraphNode>& nodes, CUgraphNode* place,
                      size_t* count);

// The same for the far ends of edges, with their data. CUDA_ERROR_LOSSY_QUERY:
// there is no place for data that are not plain.
template <typename Edge>
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

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_GRAPH_EDGES_H_
