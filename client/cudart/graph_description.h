// SPDX-License-Identifier: Apache-2.0
//
// Nodes of graphs as the driver describes them.
#ifndef HOLDFAST_CLIENT_CUDART_GRAPH_DESCRIPTION_H_
#define HOLDFAST_CLIENT_CUDART_GRAPH_DESCRIPTION_H_

#include "client/cudart/driver.h"

namespace holdfast::libcudart {

// Kernels, with their stubs in the runtime's form.
cudaError_t DescribeKernelNode(const Driver& driver,
                               const cudaKernelNodeParams& node,
                               CUDA_KERNEL_NODE_PARAMS* described);
cudaKernelNodeParams ReadKernelNode(const Driver& driver,
                                    const CUDA_KERNEL_NODE_PARAMS& described);

// Nodes of any type. Work that has no context yet gets `context`.
cudaError_t DescribeNode(const Driver& driver, CUcontext context,
                         const cudaGraphNodeParams& node,
                         CUgraphNodeParams* described);

// Sets the fields of `node` that the driver answers when it adds a node.
void ReadAnswer(const CUgraphNodeParams& described, cudaGraphNodeParams* node);

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_GRAPH_DESCRIPTION_H_
