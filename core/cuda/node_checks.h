// SPDX-License-Identifier: Apache-2.0
//
// Checks of the parameters of nodes of graphs.
#ifndef HOLDFAST_CORE_CUDA_NODE_CHECKS_H_
#define HOLDFAST_CORE_CUDA_NODE_CHECKS_H_

#include "cuda.h"

namespace holdfast::cuda {

// True if a conditional node of this type may have so many bodies.
bool IsBodyCount(CUgraphConditionalNodeType type, unsigned count);

// True for an attribute of launches that kernel nodes have, too.
bool IsNodeAttribute(CUlaunchAttributeID id);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_NODE_CHECKS_H_
