// SPDX-License-Identifier: Apache-2.0
//
// Entry points: nodes of graphs and their parameters.
#include <utility>

#include "core/software/driver/api/graph_call.h"
#include "core/software/driver/graph/node.h"

using namespace holdfast::software;

namespace {

// Where a new node goes.
struct NewNode {
  CUgraphNode* handle;
  CUgraph graph;
  const CUgraphNode* dependencies;
  const CUgraphEdgeData* data;
  size_t count;
};

// Adds what decode(Driver&, const Graph& parent, NodeParameters*) makes.
template <typename DecodeNode>
CUresult AddNode(const NewNode& place, DecodeNode decode) {
  return WithGraph(place.graph, [&](Driver& driver, Graph& graph) {
    if (place.handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphEdge> dependencies;
    if (!FindDependencies(driver, place.dependencies, place.data, place.count,
                          &dependencies)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    NodeParameters parameters;
    CUresult result = decode(driver, graph, &parameters);
    if (result != CUDA_SUCCESS) return result;
    GraphNode* node = nullptr;
    result = graph.AddNode(std::move(parameters), dependencies, &node);
    if (result == CUDA_SUCCESS) *place.handle = node->handle;
    return result;
  });
}

// Replaces the parameters of a node of the type that decode(Driver&,
// NodeParameters*) makes.
template <typename DecodeNode>
CUresult SetParameters(CUgraphNode handle, DecodeNode decode) {
  return WithNode(handle, [&](Driver& driver, GraphNode& node) {
    NodeParameters parameters;
    CUresult result = decode(driver, &parameters);
    if (result != CUDA_SUCCESS) return result;
    if (TypeOf(parameters) != node.type()) return CUDA_ERROR_INVALID_VALUE;
    result = Inherit(node.parameters, &parameters);
    if (result == CUDA_SUCCESS) node.parameters = std::move(parameters);
    return result;
  });
}

// Inner graphs are edited in place, and memory has its address for good.
bool CanBeSet(CUgraphNodeType type) {
  return type != CU_GRAPH_NODE_TYPE_GRAPH &&
         type != CU_GRAPH_NODE_TYPE_CONDITIONAL &&
         type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
         type != CU_GRAPH_NODE_TYPE_MEM_FREE;
}

template <typename Node>
CUresult GetEvent(CUgraphNode handle, CUevent* event) {
  return WithNodeOf<Node>(handle, [&](Driver&, Node& node) {
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *event = node.handle;
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
                 [&](Driver& driver, const Graph& parent, NodeParameters* out) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : Decode(driver, parent, parameters, out);
                 });
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
  return SetParameters(node, [&](Driver& driver, NodeParameters* out) {
    if (parameters == nullptr || !CanBeSet(parameters->type)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const Graph nowhere(nullptr);
    return Decode(driver, nowhere, parameters, out);
  });
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Driver& driver, const Graph&, NodeParameters* out) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : DecodeKernel(driver, *parameters, out);
                 });
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle,
                                       CUDA_KERNEL_NODE_PARAMS* parameters) {
  return WithNode(handle, [&](Driver&, GraphNode& node) {
    if (parameters == nullptr || node.type() != CU_GRAPH_NODE_TYPE_KERNEL) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *parameters = KernelParameters(node);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeSetParams_v2(
    CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return SetParameters(node, [&](Driver& driver, NodeParameters* out) {
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : DecodeKernel(driver, *parameters, out);
  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle,
                                       CUlaunchAttributeID id,
                                       const CUlaunchAttributeValue* value) {
  return WithNodeOf<KernelNode>(handle, [&](Driver&, KernelNode& node) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : SetAttribute(node, id, *value);
  });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle,
                                       CUlaunchAttributeID id,
                                       CUlaunchAttributeValue* value) {
  return WithNodeOf<KernelNode>(handle, [&](Driver&, KernelNode& node) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : GetAttribute(node, id, value);
  });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return WithNodeOf<KernelNode>(to, [&](Driver& driver, KernelNode& node) {
    const std::shared_ptr<GraphNode> source = driver.graphs.nodes.Find(from);
    if (source == nullptr || source->type() != CU_GRAPH_NODE_TYPE_KERNEL) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    NodeParameters copy = node;
    const CUresult result = Inherit(source->parameters, &copy);
    if (result == CUDA_SUCCESS) node = std::get<KernelNode>(std::move(copy));
    return result;
  });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMCPY3D* parameters, CUcontext ctx) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Driver& driver, const Graph&, NodeParameters* out) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : DecodeCopy(driver, *parameters, ctx, out);
                 });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle,
                                    CUDA_MEMCPY3D* parameters) {
  return WithNodeOf<CopyNode>(handle, [&](Driver&, CopyNode& node) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *parameters = node.parameters;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode handle,
                                    const CUDA_MEMCPY3D* parameters) {
  return WithNodeOf<CopyNode>(handle, [&](Driver& driver, CopyNode& node) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    NodeParameters changed;
    const CUresult result =
        DecodeCopy(driver, *parameters, node.context, &changed);
    if (result == CUDA_SUCCESS) node = std::get<CopyNode>(changed);
    return result;
  });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* parameters,
                              CUcontext ctx) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Driver& driver, const Graph&, NodeParameters* out) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : DecodeFill(driver, *parameters, ctx, out);
                 });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle,
                                    CUDA_MEMSET_NODE_PARAMS* parameters) {
  return WithNodeOf<FillNode>(handle, [&](Driver&, FillNode& node) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *parameters = FillParameters(node);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode handle,
                                    const CUDA_MEMSET_NODE_PARAMS* parameters) {
  return WithNodeOf<FillNode>(handle, [&](Driver& driver, FillNode& node) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    NodeParameters changed;
    const CUresult result =
        DecodeFill(driver, *parameters, node.context, &changed);
    if (result == CUDA_SUCCESS) node = std::get<FillNode>(changed);
    return result;
  });
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* parameters) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Driver&, const Graph&, NodeParameters* out) {
                   return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                : DecodeHost(*parameters, out);
                 });
}

CUresult cuGraphHostNodeGetParams(CUgraphNode handle,
                                  CUDA_HOST_NODE_PARAMS* parameters) {
  return WithNodeOf<HostNode>(handle, [&](Driver&, HostNode& node) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *parameters = {node.function, node.data};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node,
                                  const CUDA_HOST_NODE_PARAMS* parameters) {
  return SetParameters(node, [&](Driver&, NodeParameters* out) {
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : DecodeHost(*parameters, out);
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
  return WithNodeOf<ChildNode>(handle, [&](Driver&, ChildNode& node) {
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *graph = node.graphs.front()->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph,
                             const CUgraphNode* dependencies, size_t count) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [](Driver&, const Graph&, NodeParameters* out) {
                   *out = EmptyNode{};
                   return CUDA_SUCCESS;
                 });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                   const CUgraphNode* dependencies,
                                   size_t count, CUevent event) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Driver& driver, const Graph&, NodeParameters* out) {
                   return DecodeEventRecord(driver, event, out);
                 });
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return GetEvent<EventRecordNode>(node, event);
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return SetParameters(node, [&](Driver& driver, NodeParameters* out) {
    return DecodeEventRecord(driver, event, out);
  });
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* dependencies, size_t count,
                                 CUevent event) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Driver& driver, const Graph&, NodeParameters* out) {
                   return DecodeEventWait(driver, event, out);
                 });
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return GetEvent<EventWaitNode>(node, event);
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return SetParameters(node, [&](Driver& driver, NodeParameters* out) {
    return DecodeEventWait(driver, event, out);
  });
}

CUresult cuGraphAddBatchMemOpNode(
    CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
    size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return AddNode({node, graph, dependencies, nullptr, count},
                 [&](Driver& driver, const Graph&, NodeParameters* out) {
                   return parameters == nullptr
                              ? CUDA_ERROR_INVALID_VALUE
                              : DecodeBatch(driver, *parameters, out);
                 });
}

CUresult cuGraphBatchMemOpNodeGetParams(
    CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return WithNodeOf<BatchNode>(handle, [&](Driver&, BatchNode& node) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *parameters = BatchParameters(node);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphBatchMemOpNodeSetParams(
    CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return SetParameters(node, [&](Driver& driver, NodeParameters* out) {
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : DecodeBatch(driver, *parameters, out);
  });
}

}  // extern "C"
