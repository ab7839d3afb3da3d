// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_VARIABLE_NAMES_H_
#define HOLDFAST_CORE_CUDA_VARIABLE_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast::cuda {

// Returns the names of the .global and .const variables that an image of device
// code defines, as the image spells them. The driver can find a variable by
// name, but cannot list variables; it may not find variables of internal
// linkage. The image is untrusted. The names of a cubin are unique, and their
// total size is at most the image's. UNIMPLEMENTED: the image is neither PTX
// nor a cubin.
absl::StatusOr<std::vector<std::string>> VariableNames(absl::string_view image);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_VARIABLE_NAMES_H_
