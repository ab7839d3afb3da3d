// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_VARIABLE_NAMES_H_
#define HOLDFAST_CORE_CUDA_VARIABLE_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast::cuda {

// Returns the names of the .global and .const variables that an image of device
// code defines, as the image spells them. The driver can find a variable by
// name, but cannot list variables; it may not find variables of internal
// linkage. The image is untrusted. The names of a cubin are unique, and their
// total size is at most the size of the image. UNIMPLEMENTED: the image is
// neither PTX nor a cubin.
absl::StatusOr<std::vector<std::string>> VariableNames(absl::string_view image);

// Returns the bytes of the .global and .const variables that PTX defines inside
// functions, which no driver finds by name. Returns 0 if the image is not PTX.
// INVALID_ARGUMENT: a size is an expression; compilers write plain numbers.
absl::StatusOr<uint64_t> HiddenVariableBytes(absl::string_view image);

// Returns the bytes of the sections of a cubin that hold variables. Returns 0
// if the image is not a cubin.
uint64_t CubinVariableBytes(absl::string_view image);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_VARIABLE_NAMES_H_
