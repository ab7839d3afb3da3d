// SPDX-License-Identifier: Apache-2.0
//
// Converts a parsed function, in which only calls of the runtime are left, to
// the form for code generation.
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_LOWER_KERNEL_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_LOWER_KERNEL_H_

#include <cstdint>
#include <vector>

#include "core/software/lower/kernel.h"

namespace holdfast::software::lower {

// Returns the kernel of `function`. Splits `function` into basic blocks, and
// finds its loops. Assigns places to its variables, and to the .shared
// variables of the module that `function` names. `addresses` has the addresses
// of the module's .global and .const variables, by index into
// Module::variables. It may be empty if no code is generated. REQUIRES:
// `module` and `function` outlive the kernel.
Kernel LowerKernel(const ptx::Module& module, const ptx::Function& function,
                   const std::vector<uint64_t>& addresses);

}  // namespace holdfast::software::lower

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_LOWER_KERNEL_H_
