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

template <typename Body>
CUresult WithMemoryOf(CUdevice device, Body body) {
  return WithDevice(device, [&](Device& found) { return body(found); });
}

}  // namespace

#include "core/cuda/graph_memory_calls.inc"
#include "core/cuda/user_object_calls.inc"

extern "C" {

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

}  // extern "C"
