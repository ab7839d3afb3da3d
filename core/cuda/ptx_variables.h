// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_PTX_VARIABLES_H_
#define HOLDFAST_CORE_CUDA_PTX_VARIABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast::cuda {

// Returns the names of the .global and .const variables that PTX defines
// outside of functions. The PTX is untrusted, and need not be valid.
std::vector<std::string> NamesInPtx(absl::string_view ptx);

// Returns the bytes of the .global and .const variables that PTX defines inside
// functions. INVALID_ARGUMENT: a size is an expression. The PTX is untrusted,
// and need not be valid.
absl::StatusOr<uint64_t> HiddenBytesInPtx(absl::string_view ptx);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_PTX_VARIABLES_H_
