// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_KERNEL_PARAMETERS_H_
#define HOLDFAST_CORE_COMPILE_KERNEL_PARAMETERS_H_

#include "absl/strings/string_view.h"
#include "core/compile/program.h"

namespace holdfast::compile {

// Returns the parameters of the kernels that a PTX module defines, by the
// kernels' names. Returns an empty map for a text that is not PTX.
KernelParameters ParametersInPtx(absl::string_view ptx);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_KERNEL_PARAMETERS_H_
