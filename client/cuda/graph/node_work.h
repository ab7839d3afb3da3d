// SPDX-License-Identifier: Apache-2.0
//
// The work of nodes of the program's graphs, as values.
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_NODE_WORK_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_NODE_WORK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "client/cpp/launch.h"
#include "client/cuda/copy_description.h"
#include "client/cuda/module.h"
#include "client/cuda/process.h"
#include "cuda.h"

namespace holdfast::libcuda {

class Graph;
class GraphAllocation;

// The context of a node, and the session's number of its device.
struct NodeContext {
  CUcontext handle = nullptr;
  uint32_t device = 0;

  bool operator==(const NodeContext&) const = default;
};

struct KernelWork {
  CUfunction handle = nullptr;  // or a CUkernel, which is the same
  std::shared_ptr<Function> function;
  NodeContext context;
  std::optional<Kernel> kernel;  // of `function` in `context`
  LaunchConfig config;
  std::vector<std::byte> block;  // of all parameters, each at its offset
  // The attributes that the program has set; the others have their defaults.
  std::map<CUlaunchAttributeID, CUlaunchAttributeValue> attributes;
};

struct CopyWork {
  CUDA_MEMCPY3D parameters{};  // as they were given
  CopyDescription copy;
  NodeContext context;
};

struct FillWork {
  CUDA_MEMSET_NODE_PARAMS parameters{};
  NodeContext context;
};

struct HostWork {
  CUhostFn function = nullptr;
  void* data = nullptr;
};

using InnerGraphs = std::vector<std::shared_ptr<Graph>>;

// The node owns its graph.
struct ChildWork {
  InnerGraphs graphs;     // one
  bool is_moved = false;  // the program's own graph, not a copy
};

struct EmptyWork {};

struct EventWaitWork {
  CUevent handle = nullptr;
  std::shared_ptr<ProgramEvent> event;
};

struct EventRecordWork {
  CUevent handle = nullptr;
  std::shared_ptr<ProgramEvent> event;
};

struct AllocationWork {
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};  // but for the access descriptors
  std::vector<CUmemAccessDesc> access;
  std::shared_ptr<GraphAllocation> allocation;
};

// The allocation is of this graph or of another.
struct FreeWork {
  std::shared_ptr<GraphAllocation> allocation;
};

// A value that kernels set and that one conditional node tests.
struct Condition {
  CUgraphConditionalHandle handle = 0;
  unsigned initial = 0;
  bool is_assigned = false;  // at each launch
  bool is_tested = false;    // a node has it
};

struct ConditionalWork {
  CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
  NodeContext context;
  std::shared_ptr<Condition> condition;
  InnerGraphs graphs;
  // The graphs' handles, which the program reads.
  std::shared_ptr<std::vector<CUgraph>> handles;
};

struct ValueWork {
  NodeContext context;
  std::vector<CUstreamBatchMemOpParams> operations;  // as they were given
};

// In the order of kNodeTypes (node_work.cc).
using NodeWork =
    std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork,
                 EventWaitWork, EventRecordWork, AllocationWork, FreeWork,
                 ConditionalWork, ValueWork>;

CUgraphNodeType TypeOf(const NodeWork& work);
// Returns the graphs that a node owns; none for most nodes.
const InnerGraphs& GraphsOf(const NodeWork& work);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_NODE_WORK_H_
