// SPDX-License-Identifier: Apache-2.0
//
// Entry points: adding nodes to graphs, and their parameters.
#include <utility>
#include <vector>

#include "client/cuda/api/graph_call.h"

using namespace holdfast::libcuda;

namespace {

// The place of a new node.
struct NewNode {
  CUgraphNode* node;
  CUgraph graph;
  const CUgraphNode* dependencies;
  const CUgraphEdgeData* data;
  size_t count;
};

// Adds a node with the work of read(Process&, const Graph&, NodeWork*).
template <typename Read>
CUresult AddNode(const NewNode& added, Read read) {
  return WithGraph(added.graph, [&](Process& process, Graph& graph) {
    std::vector<Edge> dependencies;
    if (added.node == nullptr ||
        !FindEdges(process, added.dependencies, added.data, added.count,
                   &dependencies)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    NodeWork work;
    CUresult result = read(process, graph, &work);
    if (result != CUDA_SUCCESS) return result;
    Node* node = nullptr;
    result = graph.AddNode(std::move(work), dependencies, &node);
    if (result == CUDA_SUCCESS) *added.node = node->handle;
    return result;
  });
}

// Gives a node the work of read(Process&, NodeWork*), which is of its type.
template <typename Read>
CUresult SetWork(CUgraphNode handle, Read read) {
  return WithNode(handle, [&](Process& process, Node& node) {
    NodeWork work;
    CUresult result = read(process, &work);
    if (result != CUDA_SUCCESS) return result;
    if (TypeOf(work) != node.type()) return CUDA_ERROR_INVALID_VALUE;
    result = KeepAttributes(node.work, &work);
    if (result == CUDA_SUCCESS) node.work = std::move(work);
    return result;
  });
}

// Inner graphs are changed in place, and memory keeps its address.
bool CanBeSet(CUgraphNodeType type) {
  return type != CU_GRAPH_NODE_TYPE_GRAPH &&
         type != CU_GRAPH_NODE_TYPE_CONDITIONAL &&
         type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
         type != CU_GRAPH_NODE_TYPE_MEM_FREE;
}

template <typename Work>
CUresult GetEvent(CUgraphNode handle, CUevent* event) {
  return WithWorkOf<Work>(handle, [&](Process&, Work& work) {
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *event = work.handle;
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph,
                           const CUgraphNode* dependencies,
                           const CUgraphEdgeData* data, size_t count,
                           CUgraphNodeParams* parameters) {
  return AddNode({node, graph, dependencies, data, count},
                 [&](Process& process, const Graph& parent, NodeWork* work) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : ReadWork(process, parent, parameters, work);
                 });
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
  return SetWork(node, [&](Process& process, NodeWork* work) {
    if (parameters == nullptr || !CanBeSet(parameters->type)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const Graph none(nullptr);
    return ReadWork(process, none, parameters, work);
  });
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Process& process, const Graph&, NodeWork* work) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : ReadKernel(process, *parameters, work);
                 });
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle,
                                       CUDA_KERNEL_NODE_PARAMS* parameters) {
  return WithNode(handle, [&](Process&, Node& node) {
    if (parameters == nullptr || node.type() != CU_GRAPH_NODE_TYPE_KERNEL) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *parameters = KernelParameters(node);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeSetParams_v2(
    CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return SetWork(node, [&](Process& process, NodeWork* work) {
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : ReadKernel(process, *parameters, work);
  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle,
                                       CUlaunchAttributeID id,
                                       const CUlaunchAttributeValue* value) {
  return WithWorkOf<KernelWork>(handle, [&](Process&, KernelWork& kernel) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : SetAttribute(kernel, id, *value);
  });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle,
                                       CUlaunchAttributeID id,
                                       CUlaunchAttributeValue* value) {
  return WithWorkOf<KernelWork>(handle, [&](Process&, KernelWork& kernel) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : GetAttribute(kernel, id, value);
  });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return WithWorkOf<KernelWork>(to, [&](Process& process, KernelWork& kernel) {
    const std::shared_ptr<Node> source = process.graphs.nodes.Find(from);
    if (source == nullptr || source->type() != CU_GRAPH_NODE_TYPE_KERNEL) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    NodeWork copy = kernel;
    const CUresult result = KeepAttributes(source->work, &copy);
    if (result == CUDA_SUCCESS) kernel = std::get<KernelWork>(std::move(copy));
    return result;
  });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMCPY3D* parameters,
                              CUcontext context) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Process& process, const Graph&, NodeWork* work) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : ReadCopy(process, *parameters, context, work);
                 });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle,
                                    CUDA_MEMCPY3D* parameters) {
  return WithWorkOf<CopyWork>(handle, [&](Process&, CopyWork& copy) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *parameters = copy.parameters;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode handle,
                                    const CUDA_MEMCPY3D* parameters) {
  return WithWorkOf<CopyWork>(handle, [&](Process& process, CopyWork& copy) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    NodeWork work;
    const CUresult result =
        ReadCopy(process, *parameters, copy.context.handle, &work);
    if (result == CUDA_SUCCESS) copy = std::get<CopyWork>(std::move(work));
    return result;
  });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* parameters,
                              CUcontext context) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Process& process, const Graph&, NodeWork* work) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : ReadFill(process, *parameters, context, work);
                 });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle,
                                    CUDA_MEMSET_NODE_PARAMS* parameters) {
  return WithWorkOf<FillWork>(handle, [&](Process&, FillWork& fill) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *parameters = fill.parameters;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode handle,
                                    const CUDA_MEMSET_NODE_PARAMS* parameters) {
  return WithWorkOf<FillWork>(handle, [&](Process& process, FillWork& fill) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    NodeWork work;
    const CUresult result =
        ReadFill(process, *parameters, fill.context.handle, &work);
    if (result == CUDA_SUCCESS) fill = std::get<FillWork>(std::move(work));
    return result;
  });
}

CUresult cuGraphAddBatchMemOpNode(
    CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
    size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Process& process, const Graph&, NodeWork* work) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : ReadValues(process, *parameters, work);
                 });
}

CUresult cuGraphBatchMemOpNodeGetParams(
    CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return WithWorkOf<ValueWork>(handle, [&](Process&, ValueWork& values) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *parameters = ValueParameters(values);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphBatchMemOpNodeSetParams(
    CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return SetWork(node, [&](Process& process, NodeWork* work) {
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : ReadValues(process, *parameters, work);
  });
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* parameters) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Process&, const Graph&, NodeWork* work) {
                   return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                : ReadHost(*parameters, work);
                 });
}

CUresult cuGraphHostNodeGetParams(CUgraphNode handle,
                                  CUDA_HOST_NODE_PARAMS* parameters) {
  return WithWorkOf<HostWork>(handle, [&](Process&, HostWork& host) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *parameters = {host.function, host.data};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node,
                                  const CUDA_HOST_NODE_PARAMS* parameters) {
  return SetWork(node, [&](Process&, NodeWork* work) {
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : ReadHost(*parameters, work);
  });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph,
                                  const CUgraphNode* dependencies, size_t count,
                                  CUgraph child) {
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_GRAPH;
  parameters.graph.graph = child;
  return cuGraphAddNode_v2(node, graph, dependencies, nullptr, count,
                           &parameters);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph* graph) {
  return WithWorkOf<ChildWork>(handle, [&](Process&, ChildWork& child) {
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *graph = child.graphs[0]->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph,
                             const CUgraphNode* dependencies, size_t count) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [](Process&, const Graph&, NodeWork* work) {
                   *work = EmptyWork{};
                   return CUDA_SUCCESS;
                 });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                   const CUgraphNode* dependencies,
                                   size_t count, CUevent event) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Process& process, const Graph&, NodeWork* work) {
                   return ReadEventRecord(process, event, work);
                 });
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return GetEvent<EventRecordWork>(node, event);
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return SetWork(node, [&](Process& process, NodeWork* work) {
    return ReadEventRecord(process, event, work);
  });
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* dependencies, size_t count,
                                 CUevent event) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Process& process, const Graph&, NodeWork* work) {
                   return ReadEventWait(process, event, work);
                 });
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return GetEvent<EventWaitWork>(node, event);
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return SetWork(node, [&](Process& process, NodeWork* work) {
    return ReadEventWait(process, event, work);
  });
}

}  // extern "C"
