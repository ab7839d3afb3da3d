// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_CUBIN_VARIABLES_H_
#define HOLDFAST_CORE_CUDA_CUBIN_VARIABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::cuda {

// Returns the names of the variables of a cubin. The cubin is untrusted. The
// names are unique, and their total size is at most the size of the cubin.
std::vector<std::string> NamesInCubin(absl::string_view cubin);

// Returns the bytes of the sections of a cubin that hold variables; UINT64_MAX
// if the number overflows. The cubin is untrusted.
uint64_t VariableBytesInCubin(absl::string_view cubin);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_CUBIN_VARIABLES_H_
