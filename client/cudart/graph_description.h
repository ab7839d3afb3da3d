// SPDX-License-Identifier: Apache-2.0
//
// Converts nodes of graphs to the driver's descriptions.
#ifndef HOLDFAST_CLIENT_CUDART_GRAPH_DESCRIPTION_H_
#define HOLDFAST_CLIENT_CUDART_GRAPH_DESCRIPTION_H_

#include "client/cudart/driver.h"

namespace holdfast::libcudart {

// Describes a kernel node. The runtime names its kernel by the stub.
cudaError_t DescribeKernelNode(const Driver& driver,
                               const cudaKernelNodeParams& node,
                               CUDA_KERNEL_NODE_PARAMS* described);
cudaKernelNodeParams ReadKernelNode(const Driver& driver,
                                    const CUDA_KERNEL_NODE_PARAMS& described);

// Describes a node of any type. Work without a context gets `context`.
cudaError_t DescribeNode(const Driver& driver, CUcontext context,
                         const cudaGraphNodeParams& node,
                         CUgraphNodeParams* described);

// Sets the fields of `node` that the driver returns when it adds a node.
void ReadAnswer(const CUgraphNodeParams& described, cudaGraphNodeParams* node);

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_GRAPH_DESCRIPTION_H_
