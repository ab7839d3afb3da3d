// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_KERNEL_NAMES_H_
#define HOLDFAST_CORE_CUDA_KERNEL_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::cuda {

// Returns the end of an error message about a missing kernel `name` of a module
// with the kernels `symbols`. It lists the kernels, "; the module has add,
// _Z5scaleIfEvPT_ (scale<float>)". If `name` is the name of a kernel in its
// source, it also says how to find that kernel.
std::string DescribeKernels(absl::string_view name,
                            const std::vector<std::string>& symbols);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_KERNEL_NAMES_H_
