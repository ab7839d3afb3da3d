// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_PARAMETER_PROMOTION_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_PARAMETER_PROMOTION_H_

#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// After inlining, .param variables that are no parameters of the kernel hold
// what calls pass. Each becomes registers if it is only loaded and stored in
// pieces that do not overlap; else it moves to local memory.
void PromoteParameters(ptx::Function* function);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_PARAMETER_PROMOTION_H_
