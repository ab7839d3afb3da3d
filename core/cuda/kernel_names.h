// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_KERNEL_NAMES_H_
#define HOLDFAST_CORE_CUDA_KERNEL_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::cuda {

// Returns the end of an error message about a missing kernel `name`: the
// module's kernels, "; the module has add, _Z5scaleIfEvPT_ (scale<float>)", and
// how to name a kernel by its source name.
std::string DescribeKernels(absl::string_view name,
                            const std::vector<std::string>& symbols);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_KERNEL_NAMES_H_
