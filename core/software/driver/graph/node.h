// SPDX-License-Identifier: Apache-2.0
//
// Nodes of a graph's definition: the work of each kind, and the edges.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_NODE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_NODE_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "core/software/driver/copy.h"
#include "core/software/driver/event.h"
#include "core/software/driver/kernel_launch.h"
#include "core/software/driver/memory_operation.h"
#include "cuda.h"

namespace holdfast::software {

class Graph;
class GraphAllocation;
class GraphCondition;
struct GraphNode;

struct KernelWork {
  CUfunction function = nullptr;  // or a CUkernel, which has the same handle
  CUcontext context = nullptr;
  KernelLaunch launch;
  // The attributes that were set; all others have their defaults.
  std::map<CUlaunchAttributeID, CUlaunchAttributeValue> attributes;
};

struct CopyWork {
  CUDA_MEMCPY3D parameters;  // the application's
  Copy copy;
  CUcontext context = nullptr;
};

struct FillWork {
  Fill fill;
  CUcontext context = nullptr;
};

struct HostWork {
  CUhostFn function = nullptr;
  void* data = nullptr;
};

using InnerGraphs = std::vector<std::shared_ptr<Graph>>;

// Runs a child graph. The node owns the child graph.
struct ChildWork {
  InnerGraphs graphs;  // one graph
  // True: the application's graph itself becomes the child graph. The
  // application owns the graph until the node is added. False: the child graph
  // is a copy.
  bool is_moved = false;
};

struct EmptyWork {};

struct EventWaitWork {
  CUevent handle = nullptr;
  std::shared_ptr<Event> event;
};

struct EventRecordWork {
  CUevent handle = nullptr;
  std::shared_ptr<Event> event;
};

// Waits for values in memory and writes values, as cuStreamBatchMemOp does.
struct ValueWork {
  CUcontext context = nullptr;
  std::vector<CUstreamBatchMemOpParams> parameters;  // the application's
  std::vector<MemoryOperation> operations;
};

// Allocates memory (allocation.h). The address of the memory is fixed when the
// node is made.
struct AllocationWork {
  CUDA_MEM_ALLOC_NODE_PARAMS parameters;  // without the access descriptors
  std::vector<CUmemAccessDesc> access;
  std::shared_ptr<GraphAllocation> allocation;
};

// Frees an allocation, which may belong to this graph or to another graph.
struct FreeWork {
  std::shared_ptr<GraphAllocation> allocation;
};

// Runs one of its graphs once, or its only graph repeatedly, depending on the
// condition's value. The node owns the graphs.
struct ConditionalWork {
  CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
  CUcontext context = nullptr;
  std::shared_ptr<GraphCondition> condition;
  InnerGraphs graphs;
  // The graphs' handles, lent to the application.
  std::shared_ptr<std::vector<CUgraph>> handles;
};

// The work of a node. The alternatives have the order of kNodeTypes (node.cc).
using NodeWork =
    std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork,
                 EventWaitWork, EventRecordWork, ValueWork, AllocationWork,
                 FreeWork, ConditionalWork>;

CUgraphNodeType TypeOf(const NodeWork& work);
// Returns the graphs that a node owns: those of a child or a conditional node;
// an empty list for other nodes.
const InnerGraphs& GraphsOf(const NodeWork& work);

// A dependency, as each of its two nodes stores it.
struct GraphEdge {
  GraphNode* node = nullptr;  // the node at the other end
  CUgraphEdgeData data{};
};

// A node. Owned by its graph, and guarded by the lock of all definitions.
struct GraphNode {
  Graph* graph = nullptr;
  CUgraphNode handle = nullptr;
  // The handle of the node from which this node was cloned; null if it was not.
  CUgraphNode origin = nullptr;
  NodeWork work;
  // The edges to and from this node, each list in the order of addition.
  std::vector<GraphEdge> dependencies;
  std::vector<GraphEdge> dependents;
  std::list<std::shared_ptr<GraphNode>>::iterator position;  // in the graph
  // The addresses of the kernel's parameters, which cuGraphKernelNodeGetParams
  // lends to the application.
  std::vector<void*> values;
  // May be false only in an instantiated graph's copy of the definition.
  bool enabled = true;

  CUgraphNodeType type() const { return TypeOf(work); }
  const InnerGraphs& graphs() const { return GraphsOf(work); }
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_NODE_H_
