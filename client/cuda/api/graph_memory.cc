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

template <typename Body>
CUresult WithMemoryOf(CUdevice device, Body body) {
  return WithDevice(device,
                    [&](Process&, const auto&) { return body(device); });
}

}  // namespace

#include "core/cuda/graph_memory_calls.inc"
#include "core/cuda/user_object_calls.inc"

extern "C" {

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

}  // extern "C"
