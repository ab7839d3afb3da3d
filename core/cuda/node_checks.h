// SPDX-License-Identifier: Apache-2.0
//
// Checks the parameters of graph nodes.
#ifndef HOLDFAST_CORE_CUDA_NODE_CHECKS_H_
#define HOLDFAST_CORE_CUDA_NODE_CHECKS_H_

#include "cuda.h"

namespace holdfast::cuda {

// Returns true if a conditional node of this type may have `count` bodies.
bool IsBodyCount(CUgraphConditionalNodeType type, unsigned count);

// Returns true if a kernel node can have this attribute of launches.
bool IsNodeAttribute(CUlaunchAttributeID id);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_NODE_CHECKS_H_
