// SPDX-License-Identifier: Apache-2.0
//
// Entry points: graphs, their nodes' order, and objects that they own.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return CallInContext(&Driver::GraphCreate, graph, flags);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return CallInContext(&Driver::GraphDestroy, graph);
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  return CallInContext(&Driver::GraphClone, clone, graph);
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node,
                                     cudaGraphNode_t original,
                                     cudaGraph_t clone) {
  return CallInContext(&Driver::GraphNodeFindInClone, node, original, clone);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node,
                                 cudaGraphNodeType* type) {
  return CallInContext(&Driver::GraphNodeGetType, node,
                       As<CUgraphNodeType>(type));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                              size_t* count) {
  return CallInContext(&Driver::GraphGetNodes, graph, nodes, count);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                                  size_t* count) {
  return CallInContext(&Driver::GraphGetRootNodes, graph, nodes, count);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from,
                              cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                              size_t* count) {
  return CallInContext(&Driver::GraphGetEdges, graph, from, to,
                       As<CUgraphEdgeData>(edges), count);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                         cudaGraphNode_t* dependencies,
                                         cudaGraphEdgeData* edges,
                                         size_t* count) {
  return CallInContext(&Driver::GraphNodeGetDependencies, node, dependencies,
                       As<CUgraphEdgeData>(edges), count);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
                                           cudaGraphNode_t* dependents,
                                           cudaGraphEdgeData* edges,
                                           size_t* count) {
  return CallInContext(&Driver::GraphNodeGetDependentNodes, node, dependents,
                       As<CUgraphEdgeData>(edges), count);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph,
                                     const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* edges,
                                     size_t count) {
  return CallInContext(&Driver::GraphAddDependencies, graph, from, to,
                       As<const CUgraphEdgeData>(edges), count);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph,
                                        const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData* edges,
                                        size_t count) {
  return CallInContext(&Driver::GraphRemoveDependencies, graph, from, to,
                       As<const CUgraphEdgeData>(edges), count);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return CallInContext(&Driver::GraphDestroyNode, node);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path,
                                   unsigned flags) {
  return CallInContext(&Driver::GraphDebugDotPrint, graph, path, flags);
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle,
                                             cudaGraph_t graph,
                                             unsigned default_value,
                                             unsigned flags) {
  return WithContext([&](const Driver& driver, CUcontext context) {
    return driver.GraphConditionalHandleCreate(
        As<CUgraphConditionalHandle>(handle), graph, context, default_value,
        flags);
  });
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer,
                                 cudaHostFn_t destroy, unsigned count,
                                 unsigned flags) {
  return CallInContext(&Driver::UserObjectCreate, object, pointer, destroy,
                       count, flags);
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  return CallInContext(&Driver::UserObjectRetain, object, count);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  return CallInContext(&Driver::UserObjectRelease, object, count);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph,
                                      cudaUserObject_t object, unsigned count,
                                      unsigned flags) {
  return CallInContext(&Driver::GraphRetainUserObject, graph, object, count,
                       flags);
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph,
                                       cudaUserObject_t object,
                                       unsigned count) {
  return CallInContext(&Driver::GraphReleaseUserObject, graph, object, count);
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return CallDriver(&Driver::DeviceGraphMemTrim, device);
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device,
                                           cudaGraphMemAttributeType attribute,
                                           void* value) {
  return CallDriver(&Driver::DeviceGetGraphMemAttribute, device,
                    static_cast<CUgraphMem_attribute>(attribute), value);
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device,
                                           cudaGraphMemAttributeType attribute,
                                           void* value) {
  return CallDriver(&Driver::DeviceSetGraphMemAttribute, device,
                    static_cast<CUgraphMem_attribute>(attribute), value);
}

}  // extern "C"
