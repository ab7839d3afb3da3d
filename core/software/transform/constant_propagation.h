// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_CONSTANT_PROPAGATION_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_CONSTANT_PROPAGATION_H_

#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// Replaces each read of a register by a number if the only write of the
// register is a mov of the number. Compilers put even 0 and -1 into such
// registers. Later analyses can then prove more, and diverged code need not
// preserve these registers.
void PropagateConstants(ptx::Function* function);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_CONSTANT_PROPAGATION_H_
