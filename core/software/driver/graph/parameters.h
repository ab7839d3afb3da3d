// SPDX-License-Identifier: Apache-2.0
//
// Converts CUDA's structures of node parameters to NodeParameters and back.
// Decode... makes the checks of cuGraphAdd...Node, and returns its errors.
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
// CUDA_ERROR_INVALID_VALUE: no allocation node has the address, or another node
// frees it already.
CUresult DecodeFree(CUdeviceptr address, NodeParameters* node);

// Decodes the parameters of a node of any kind in the graph `parent`. A child
// graph is copied for `parent`, or moved to it, according to `ownership`. Sets
// the output fields of `parameters`.
CUresult Decode(Driver& driver, const Graph& parent,
                CUgraphNodeParams* parameters, NodeParameters* node);

// Pointers in the result live until the node's parameters change.
CUDA_KERNEL_NODE_PARAMS KernelParameters(GraphNode& node);
CUDA_MEMSET_NODE_PARAMS FillParameters(const FillNode& node);
CUDA_BATCH_MEM_OP_NODE_PARAMS BatchParameters(BatchNode& node);
CUDA_MEM_ALLOC_NODE_PARAMS AllocationParameters(const AllocationNode& node);

// Copies the attributes of a kernel node to its new parameters, which do not
// contain them. Does nothing for other nodes. Fails as SetAttribute.
CUresult Inherit(const NodeParameters& before, NodeParameters* after);

// cuGraphKernelNodeSetAttribute and ...GetAttribute. GetAttribute returns zeros
// for an attribute that was not set. SetAttribute fails as a launch with the
// attribute would. CUDA_ERROR_INVALID_VALUE: kernel nodes do not have the
// attribute.
CUresult SetAttribute(KernelNode& node, CUlaunchAttributeID id,
                      const CUlaunchAttributeValue& value);
CUresult GetAttribute(const KernelNode& node, CUlaunchAttributeID id,
                      CUlaunchAttributeValue* value);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_PARAMETERS_H_
