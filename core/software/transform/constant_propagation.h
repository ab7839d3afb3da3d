// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_CONSTANT_PROPAGATION_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_CONSTANT_PROPAGATION_H_

#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// Puts the number where a register is read that only one mov writes, with a
// number. Compilers name even 0 and -1 so. More is known then of what is
// computed, and code whose lanes have parted need not keep such registers.
void PropagateConstants(ptx::Function* function);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_CONSTANT_PROPAGATION_H_
