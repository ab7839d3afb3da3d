// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_PARAMETER_PROMOTION_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_PARAMETER_PROMOTION_H_

#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// Replaces the .param variables of calls that were inlined. Such a variable has
// an argument or a result of a call, and is no parameter of the kernel. A
// variable becomes registers if all its loads and stores use the same pieces of
// it, which do not overlap. Otherwise it becomes a local variable.
void PromoteParameters(ptx::Function* function);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_PARAMETER_PROMOTION_H_
