// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memory that graphs allocate and free, conditions and user
// objects of graphs.
#include <utility>

#include "core/cuda/handle_value.h"
#include "core/software/driver/api/graph_call.h"
#include "core/software/driver/graph/allocation.h"
#include "core/software/runtime/graph_condition.h"

using namespace holdfast::software;

namespace {

CUuserObject NewUserObject() {
  return reinterpret_cast<CUuserObject>(holdfast::cuda::NewHandleValue());
}

}  // namespace

extern "C" {

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph,
                                const CUgraphNode* dependencies, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams p{};
  p.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  p.alloc = {parameters->poolProps, parameters->accessDescs,
             parameters->accessDescCount, parameters->bytesize, 0};
  const CUresult result =
      cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, &p);
  if (result == CUDA_SUCCESS) parameters->dptr = p.alloc.dptr;
  return result;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle,
                                      CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  return WithNodeOf<AllocationNode>(handle, [&](Driver&, AllocationNode& node) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *parameters = AllocationParameters(node);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph,
                               const CUgraphNode* dependencies, size_t count,
                               CUdeviceptr pointer) {
  CUgraphNodeParams p{};
  p.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  p.free.dptr = pointer;
  return cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, &p);
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr* pointer) {
  return WithNodeOf<FreeNode>(handle, [&](Driver&, FreeNode& node) {
    if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pointer = node.allocation->address();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return WithDevice(device, [](Device& found) {
    GraphMemory::Get().Trim(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device,
                                      CUgraphMem_attribute attribute,
                                      void* value) {
  return WithDevice(device, [&](Device& found) {
    return value == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : GraphMemory::Get().GetAttribute(
                     found, attribute, static_cast<cuuint64_t*>(value));
  });
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device,
                                      CUgraphMem_attribute attribute,
                                      void* value) {
  return WithDevice(device, [&](Device& found) {
    return value == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : GraphMemory::Get().SetAttribute(
                     found, attribute, *static_cast<const cuuint64_t*>(value));
  });
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle,
                                        CUgraph graph_handle, CUcontext context,
                                        unsigned initial, unsigned flags) {
  return WithGraph(graph_handle, [&](Driver&, Graph& graph) {
    if (handle == nullptr || (flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (FindContext(context == nullptr ? CurrentContext() : context) ==
        nullptr) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    graph.conditions.push_back(std::make_shared<GraphCondition>(
        holdfast::cuda::NewHandleValue(), initial,
        flags == CU_GRAPH_COND_ASSIGN_DEFAULT));
    *handle = graph.conditions.back()->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectCreate(CUuserObject* object, void* data, CUhostFn destroy,
                            unsigned count, unsigned flags) {
  return WithDefinitions([&](Driver& driver) {
    if (AnyNull(object) || destroy == nullptr || count == 0 ||
        count > INT32_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *object = NewUserObject();
    driver.graphs.user_objects.Add(
        *object, std::make_shared<holdfast::cuda::UserObject>(data, destroy),
        count);
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned count) {
  return WithDefinitions([&](Driver& driver) {
    std::shared_ptr<holdfast::cuda::UserObject> found =
        driver.graphs.user_objects.Find(object);
    if (found == nullptr || count == 0 || count > INT32_MAX) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    driver.graphs.user_objects.Add(object, std::move(found), count);
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  return WithDefinitions([&](Driver& driver) {
    return count > 0 && driver.graphs.user_objects.Remove(object, count)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject object,
                                 unsigned count, unsigned flags) {
  return WithGraph(graph_handle, [&](Driver& driver, Graph& graph) {
    holdfast::cuda::UserReferences& own = driver.graphs.user_objects;
    const std::shared_ptr<holdfast::cuda::UserObject> found = own.Find(object);
    if (found == nullptr || count == 0 || count > INT32_MAX ||
        (flags & ~CU_GRAPH_USER_OBJECT_MOVE) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags == CU_GRAPH_USER_OBJECT_MOVE && !own.Remove(object, count)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    graph.user_objects.Add(object, found, count);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject object,
                                  unsigned count) {
  return WithGraph(graph_handle, [&](Driver&, Graph& graph) {
    return count > 0 && graph.user_objects.Remove(object, count)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // extern "C"
