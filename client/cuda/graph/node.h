// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_NODE_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_NODE_H_

#include <list>
#include <memory>
#include <vector>

#include "client/cuda/graph/node_work.h"
#include "cuda.h"

namespace holdfast::libcuda {

struct Node;

// A dependency between two nodes, as it is stored in one of them.
struct Edge {
  Node* node = nullptr;  // at the other end
  CUgraphEdgeData data{};
};

// A part of one graph, which owns it. Guarded by the lock of all definitions.
struct Node {
  Graph* graph = nullptr;
  CUgraphNode handle = nullptr;
  // The handle of the node that this node was cloned from; else null.
  CUgraphNode origin = nullptr;
  NodeWork work;
  // The edges, in the order in which they were added.
  std::vector<Edge> dependencies;
  std::vector<Edge> dependents;
  std::list<std::shared_ptr<Node>>::iterator position;  // in the graph
  // The pointers to the arguments, for the last cuGraphKernelNodeGetParams. The
  // program reads them after the call.
  std::vector<void*> values;
  // Only in an instantiated graph's copy of the definition.
  bool enabled = true;

  CUgraphNodeType type() const { return TypeOf(work); }
  const InnerGraphs& graphs() const { return GraphsOf(work); }
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_NODE_H_
