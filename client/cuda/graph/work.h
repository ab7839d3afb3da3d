// SPDX-License-Identifier: Apache-2.0
//
// Converts CUDA's structures of node parameters to the work of nodes, and back.
// The Read functions make the checks of cuGraphAdd...Node.
#ifndef HOLDFAST_CLIENT_CUDA_GRAPH_WORK_H_
#define HOLDFAST_CLIENT_CUDA_GRAPH_WORK_H_

#include "client/cuda/graph/graph.h"
#include "client/cuda/graph/node.h"
#include "client/cuda/process.h"
#include "cuda.h"

namespace holdfast::libcuda {

// Finds a node's context: `handle`, or the current context if `handle` is null.
// CUDA_ERROR_INVALID_CONTEXT: there is no such context.
CUresult FindContext(Process& process, CUcontext handle, NodeContext* context);

// Sets `*accepted` to the work. Fails as Lower, for example if the session does
// not have the work's memory.
CUresult AcceptWork(Process& process, NodeWork work, NodeWork* accepted);

CUresult ReadKernel(Process& process, const CUDA_KERNEL_NODE_PARAMS& parameters,
                    NodeWork* work);
CUresult ReadCopy(Process& process, const CUDA_MEMCPY3D& parameters,
                  CUcontext context, NodeWork* work);
CUresult ReadFill(Process& process, const CUDA_MEMSET_NODE_PARAMS& parameters,
                  CUcontext context, NodeWork* work);
CUresult ReadValues(Process& process,
                    const CUDA_BATCH_MEM_OP_NODE_PARAMS& parameters,
                    NodeWork* work);
CUresult ReadHost(const CUDA_HOST_NODE_PARAMS& parameters, NodeWork* work);
CUresult ReadEventWait(Process& process, CUevent event, NodeWork* work);
CUresult ReadEventRecord(Process& process, CUevent event, NodeWork* work);
// Sets parameters->dptr to the address. Waits for the daemon.
CUresult ReadAllocation(Process& process,
                        CUDA_MEM_ALLOC_NODE_PARAMS* parameters, NodeWork* work);
CUresult ReadFree(CUdeviceptr address, NodeWork* work);
// Reads the work of a node of any type in `parent`. Sets the fields of
// *parameters that CUDA returns: the address of an allocation, or the graphs of
// a conditional node.
CUresult ReadWork(Process& process, const Graph& parent,
                  CUgraphNodeParams* parameters, NodeWork* work);

// Checks a launch as ReadKernel does, after its fields were changed.
CUresult CheckKernel(const KernelWork& kernel);

// Return a node's parameters as CUDA's structures. Pointers in the results live
// until the node's work changes.
CUDA_KERNEL_NODE_PARAMS KernelParameters(Node& node);
CUDA_BATCH_MEM_OP_NODE_PARAMS ValueParameters(ValueWork& work);
CUDA_MEM_ALLOC_NODE_PARAMS AllocationParameters(const AllocationWork& work);

// Copies the attributes of the kernel node's work `before` to its new work.
// Does nothing if one of them is not the work of a kernel.
CUresult KeepAttributes(const NodeWork& before, NodeWork* after);
// Set and read an attribute of a kernel node. CUDA_ERROR_INVALID_VALUE: kernel
// nodes have no such attribute. CUDA_ERROR_NOT_SUPPORTED: Holdfast does not
// serve the attribute.
CUresult SetAttribute(KernelWork& kernel, CUlaunchAttributeID id,
                      const CUlaunchAttributeValue& value);
CUresult GetAttribute(const KernelWork& kernel, CUlaunchAttributeID id,
                      CUlaunchAttributeValue* value);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_GRAPH_WORK_H_
