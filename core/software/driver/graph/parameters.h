// SPDX-License-Identifier: Apache-2.0
//
// Converts CUDA's structures of node parameters to the work of nodes, and back.
//
// The Read functions make the checks of cuGraphAdd...Node, and set the work
// only if they return CUDA_SUCCESS. A null context stands for the current
// context. CUDA_ERROR_INVALID_CONTEXT: there is no such context.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_PARAMETERS_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_PARAMETERS_H_

#include "core/software/driver/driver.h"
#include "core/software/driver/graph/graph.h"
#include "core/software/driver/graph/node.h"
#include "cuda.h"

namespace holdfast::software {

CUresult ReadKernel(Driver& driver, const CUDA_KERNEL_NODE_PARAMS& parameters,
                    NodeWork* node);
CUresult ReadCopy(Driver& driver, const CUDA_MEMCPY3D& parameters,
                  CUcontext context, NodeWork* node);
CUresult ReadFill(Driver& driver, const CUDA_MEMSET_NODE_PARAMS& parameters,
                  CUcontext context, NodeWork* node);
CUresult ReadHost(const CUDA_HOST_NODE_PARAMS& parameters, NodeWork* node);
CUresult ReadEventWait(Driver& driver, CUevent event, NodeWork* node);
CUresult ReadEventRecord(Driver& driver, CUevent event, NodeWork* node);

CUresult ReadValues(Driver& driver,
                    const CUDA_BATCH_MEM_OP_NODE_PARAMS& parameters,
                    NodeWork* node);
// Also makes the allocation, and sets parameters->dptr to its address.
CUresult ReadAllocation(Driver& driver, CUDA_MEM_ALLOC_NODE_PARAMS* parameters,
                        NodeWork* node);
// CUDA_ERROR_INVALID_VALUE: no allocation node has the address, or another node
// frees it already.
CUresult ReadFree(CUdeviceptr address, NodeWork* node);

// Reads the work of a node of any kind for the graph `parent`. A child graph is
// copied or moved, according to `ownership` of its parameters. Sets the output
// fields of `parameters`: `dptr` of an allocation, `phGraph_out` of a
// conditional node.
CUresult ReadWork(Driver& driver, const Graph& parent,
                  CUgraphNodeParams* parameters, NodeWork* node);

// Return the parameters of a node. Pointers in the result are valid until the
// node's parameters change.
CUDA_KERNEL_NODE_PARAMS KernelParameters(GraphNode& node);
CUDA_MEMSET_NODE_PARAMS FillParameters(const FillWork& node);
CUDA_BATCH_MEM_OP_NODE_PARAMS ValueParameters(ValueWork& node);
CUDA_MEM_ALLOC_NODE_PARAMS AllocationParameters(const AllocationWork& node);

// Copies the attributes of a kernel node to its new work `after`, because
// CUDA's structure of parameters contains no attributes. Does nothing for other
// nodes. Fails as SetAttribute.
CUresult KeepAttributes(const NodeWork& before, NodeWork* after);

// Implement cuGraphKernelNodeSetAttribute and cuGraphKernelNodeGetAttribute.
// GetAttribute sets *value to zeros for an attribute that was not set.
// SetAttribute fails as a launch with the attribute would.
// CUDA_ERROR_INVALID_VALUE: kernel nodes do not have the attribute.
CUresult SetAttribute(KernelWork& node, CUlaunchAttributeID id,
                      const CUlaunchAttributeValue& value);
CUresult GetAttribute(const KernelWork& node, CUlaunchAttributeID id,
                      CUlaunchAttributeValue* value);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_PARAMETERS_H_
