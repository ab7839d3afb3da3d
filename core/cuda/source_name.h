// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_SOURCE_NAME_H_
#define HOLDFAST_CORE_CUDA_SOURCE_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::cuda {

// The name of a function in its C++ source, without parameters:
// "a::scale<float>" of "_ZN1a5scaleIfEEvPT_". Empty for a symbol that is not
// mangled.
std::string SourceName(absl::string_view symbol);

// Ends the message that no kernel is called `name`, in a module with kernels of
// these symbols: "; the module has add, _Z5scaleIfEvPT_ (scale<float>)", and
// how a kernel is found whose source has that name.
std::string DescribeKernels(absl::string_view name,
                            const std::vector<std::string>& symbols);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_SOURCE_NAME_H_
