// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memory that graphs allocate, conditions, and objects of the
// program that graphs keep.
#include "client/cuda/graph/graph_memory.h"

#include <cstdint>
#include <utility>

#include "client/cuda/api/graph_call.h"
#include "core/cuda/handle_value.h"

using namespace holdfast::libcuda;

namespace {

// Handles of conditions are arguments of kernels, among other numbers, and have
// to be unlike those.
CUgraphConditionalHandle NewConditionHandle() {
  return 0x1f5c'0000'0000'0000 | holdfast::cuda::NewHandleValue();
}

bool IsCount(unsigned count) { return count > 0 && count <= INT32_MAX; }

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
  return WithWorkOf<AllocationWork>(handle,
                                    [&](Process&, AllocationWork& work) {
                                      if (parameters == nullptr)
                                        return CUDA_ERROR_INVALID_VALUE;
                                      *parameters = AllocationParameters(work);
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
  return WithWorkOf<FreeWork>(handle, [&](Process&, FreeWork& work) {
    if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pointer = work.allocation->address();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return WithDevice(device, [&](Process&, const auto&) {
    GraphMemory::Get().Trim(device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device,
                                      CUgraphMem_attribute attribute,
                                      void* value) {
  return WithDevice(device, [&](Process&, const auto&) {
    return value == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : GraphMemory::Get().GetAttribute(
                     device, attribute, static_cast<cuuint64_t*>(value));
  });
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device,
                                      CUgraphMem_attribute attribute,
                                      void* value) {
  return WithDevice(device, [&](Process&, const auto&) {
    return value == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : GraphMemory::Get().SetAttribute(
                     device, attribute, *static_cast<const cuuint64_t*>(value));
  });
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle,
                                        CUgraph graph_handle, CUcontext context,
                                        unsigned initial, unsigned flags) {
  return WithGraph(graph_handle, [&](Process& process, Graph& graph) {
    if (handle == nullptr || (flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    NodeContext found;
    const CUresult result = FindContext(process, context, &found);
    if (result != CUDA_SUCCESS) return result;
    *handle = NewConditionHandle();
    graph.conditions.push_back(std::make_shared<Condition>(
        Condition{.handle = *handle,
                  .initial = initial,
                  .is_assigned = flags == CU_GRAPH_COND_ASSIGN_DEFAULT}));
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectCreate(CUuserObject* object, void* data, CUhostFn destroy,
                            unsigned count, unsigned flags) {
  return WithDefinitions([&](Process& process) {
    if (object == nullptr || destroy == nullptr || !IsCount(count) ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *object = reinterpret_cast<CUuserObject>(holdfast::cuda::NewHandleValue());
    process.graphs.user_objects.Add(
        *object, std::make_shared<holdfast::cuda::UserObject>(data, destroy),
        count);
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned count) {
  return WithDefinitions([&](Process& process) {
    std::shared_ptr<holdfast::cuda::UserObject> found =
        process.graphs.user_objects.Find(object);
    if (found == nullptr || !IsCount(count)) return CUDA_ERROR_INVALID_VALUE;
    process.graphs.user_objects.Add(object, std::move(found), count);
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  return WithDefinitions([&](Process& process) {
    return IsCount(count) && process.graphs.user_objects.Remove(object, count)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject object,
                                 unsigned count, unsigned flags) {
  return WithGraph(graph_handle, [&](Process& process, Graph& graph) {
    holdfast::cuda::UserReferences& own = process.graphs.user_objects;
    std::shared_ptr<holdfast::cuda::UserObject> found = own.Find(object);
    if (found == nullptr || !IsCount(count) ||
        (flags & ~CU_GRAPH_USER_OBJECT_MOVE) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags == CU_GRAPH_USER_OBJECT_MOVE && !own.Remove(object, count)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    graph.user_objects.Add(object, std::move(found), count);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject object,
                                  unsigned count) {
  return WithGraph(graph_handle, [&](Process&, Graph& graph) {
    return IsCount(count) && graph.user_objects.Remove(object, count)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // extern "C"
