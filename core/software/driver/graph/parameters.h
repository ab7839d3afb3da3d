// SPDX-License-Identifier: Apache-2.0
//
// CUDA's structures of node parameters, to the nodes' own and back. Decoding
// makes the checks that cuGraphAdd...Node makes.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_PARAMETERS_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_PARAMETERS_H_

#include "core/software/driver/driver.h"
#include "core/software/driver/graph/graph.h"
#include "core/software/driver/graph/node.h"
#include "cuda.h"

namespace holdfast::software {

CUresult DecodeKernel(Driver& driver, const CUDA_KERNEL_NODE_PARAMS& parameters,
                      NodeParameters* node);
CUresult DecodeCopy(Driver& driver, const CUDA_MEMCPY3D& parameters,
                    CUcontext context, NodeParameters* node);
CUresult DecodeFill(Driver& driver, const CUDA_MEMSET_NODE_PARAMS& parameters,
                    CUcontext context, NodeParameters* node);
CUresult DecodeHost(const CUDA_HOST_NODE_PARAMS& parameters,
                    NodeParameters* node);
CUresult DecodeEventWait(Driver& driver, CUevent event, NodeParameters* node);
CUresult DecodeEventRecord(Driver& driver, CUevent event, NodeParameters* node);

CUresult DecodeBatch(Driver& driver,
                     const CUDA_BATCH_MEM_OP_NODE_PARAMS& parameters,
                     NodeParameters* node);
// Sets parameters->dptr to the address.
CUresult DecodeAllocation(Driver& driver,
                          CUDA_MEM_ALLOC_NODE_PARAMS* parameters,
                          NodeParameters* node);
// An allocation can be freed by one node only.
CUresult DecodeFree(CUdeviceptr address, NodeParameters* node);

// Any kind, for a node of `parent`, which a child graph is copied for. Fills
// what `parameters` returns.
CUresult Decode(Driver& driver, const Graph& parent,
                CUgraphNodeParams* parameters, NodeParameters* node);

// Pointers in the result live until the node's parameters change.
CUDA_KERNEL_NODE_PARAMS KernelParameters(GraphNode& node);
CUDA_MEMSET_NODE_PARAMS FillParameters(const FillNode& node);
CUDA_BATCH_MEM_OP_NODE_PARAMS BatchParameters(BatchNode& node);
CUDA_MEM_ALLOC_NODE_PARAMS AllocationParameters(const AllocationNode& node);

// Carries over what new parameters of a node leave as it is: the attributes of
// a kernel node.
CUresult Inherit(const NodeParameters& before, NodeParameters* after);

// cuGraphKernelNodeSetAttribute. Returns CUDA_ERROR_INVALID_VALUE for what is
// no attribute of kernel nodes, CUDA_ERROR_NOT_SUPPORTED for a value that a
// launch could not have either.
CUresult SetAttribute(KernelNode& node, CUlaunchAttributeID id,
                      const CUlaunchAttributeValue& value);
CUresult GetAttribute(const KernelNode& node, CUlaunchAttributeID id,
                      CUlaunchAttributeValue* value);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_PARAMETERS_H_
