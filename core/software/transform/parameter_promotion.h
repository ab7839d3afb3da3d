// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_PARAMETER_PROMOTION_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_PARAMETER_PROMOTION_H_

#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// Replaces the .param variables of calls that were inlined: variables that hold
// an argument or a result of a call, and are not parameters of the kernel. A
// variable becomes registers if all loads and stores of it use the same pieces,
// which do not overlap; else it moves to local memory.
void PromoteParameters(ptx::Function* function);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_PARAMETER_PROMOTION_H_
