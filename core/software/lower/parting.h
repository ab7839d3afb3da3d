// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_LOWER_PARTING_H_
#define HOLDFAST_CORE_SOFTWARE_LOWER_PARTING_H_

#include "core/software/lower/kernel.h"
#include "core/software/lower/shapes.h"

namespace holdfast::software::lower {

// Returns whether lanes are likely to diverge in a way that takes masked code:
// at a branch that depends on data or on floating-point numbers, such as the
// end of a loop that each lane runs as often as it has to. At bounds of indices
// and of values that are computed from indices alone, few warps diverge.
// `shapes` are those of full code.
bool WillPart(const Kernel& kernel, const Shapes& shapes);

}  // namespace holdfast::software::lower

#endif  // HOLDFAST_CORE_SOFTWARE_LOWER_PARTING_H_
