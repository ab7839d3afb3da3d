// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_LOWER_PARAMETERS_H_
#define HOLDFAST_CORE_SOFTWARE_LOWER_PARAMETERS_H_

#include "core/software/ptx/ast.h"

namespace holdfast::software::lower {

// After inlining, .param variables that are no parameters of the kernel hold
// what calls pass. Each becomes registers if it is only loaded and stored in
// pieces that do not overlap; else it moves to local memory.
void PlaceParameters(ptx::Function* function);

}  // namespace holdfast::software::lower

#endif  // HOLDFAST_CORE_SOFTWARE_LOWER_PARAMETERS_H_
