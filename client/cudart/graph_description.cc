// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/graph_description.h"

#include <cstring>

#include "client/cudart/copy_description.h"
#include "client/cudart/modules.h"

namespace holdfast::libcudart {
namespace {

// Both forms of the runtime's parameters have the same fields, as have both of
// the driver's.
template <typename From, typename To>
cudaError_t DescribeKernel(const Driver& driver, const From& node,
                           To* described) {
  *described = {};
  described->gridDimX = node.gridDim.x;
  described->gridDimY = node.gridDim.y;
  described->gridDimZ = node.gridDim.z;
  described->blockDimX = node.blockDim.x;
  described->blockDimY = node.blockDim.y;
  described->blockDimZ = node.blockDim.z;
  described->sharedMemBytes = node.sharedMemBytes;
  described->kernelParams = node.kernelParams;
  described->extra = node.extra;
  return FindFunction(driver, node.func, &described->func);
}

// The types whose parameters differ from the driver's.
cudaError_t DescribeParameters(const Driver& driver, CUcontext context,
                               const cudaGraphNodeParams& node,
                               CUgraphNodeParams* described) {
  switch (node.type) {
    case cudaGraphNodeTypeKernel:
      return DescribeKernel(driver, node.kernel, &described->kernel);
    case cudaGraphNodeTypeMemcpy:
      described->memcpy = {.flags = node.memcpy.flags, .copyCtx = context};
      return DescribeBox(driver, node.memcpy.copyParams,
                         &described->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
      described->memset.ctx = context;
      return cudaSuccess;
    case cudaGraphNodeTypeConditional:
      described->conditional.ctx = context;
      return cudaSuccess;
    default:
      return cudaSuccess;
  }
}

}  // namespace

cudaError_t DescribeKernelNode(const Driver& driver,
                               const cudaKernelNodeParams& node,
                               CUDA_KERNEL_NODE_PARAMS* described) {
  return DescribeKernel(driver, node, described);
}

cudaKernelNodeParams ReadKernelNode(const Driver& driver,
                                    const CUDA_KERNEL_NODE_PARAMS& described) {
  CUfunction function = described.func;
  if (function == nullptr && described.kern != nullptr) {
    driver.KernelGetFunction(&function, described.kern);
  }
  cudaKernelNodeParams node{};
  node.func = StubOf(driver, function);
  node.gridDim = {described.gridDimX, described.gridDimY, described.gridDimZ};
  node.blockDim = {described.blockDimX, described.blockDimY,
                   described.blockDimZ};
  node.sharedMemBytes = described.sharedMemBytes;
  node.kernelParams = described.kernelParams;
  node.extra = described.extra;
  return node;
}

cudaError_t DescribeNode(const Driver& driver, CUcontext context,
                         const cudaGraphNodeParams& node,
                         CUgraphNodeParams* described) {
  static_assert(sizeof(CUgraphNodeParams) == sizeof(cudaGraphNodeParams));
  std::memcpy(described, &node, sizeof(node));
  return DescribeParameters(driver, context, node, described);
}

void ReadAnswer(const CUgraphNodeParams& described, cudaGraphNodeParams* node) {
  if (node->type == cudaGraphNodeTypeMemAlloc) {
    node->alloc.dptr = reinterpret_cast<void*>(described.alloc.dptr);
  } else if (node->type == cudaGraphNodeTypeConditional) {
    node->conditional.phGraph_out = described.conditional.phGraph_out;
  }
}

}  // namespace holdfast::libcudart
