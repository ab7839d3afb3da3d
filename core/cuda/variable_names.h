// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_VARIABLE_NAMES_H_
#define HOLDFAST_CORE_CUDA_VARIABLE_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast::cuda {

// The .global and .const variables that an image of device code defines, by
// their names in the image; the driver finds a variable by name and cannot list
// them. Some of them, of internal linkage, it may not find. The image may be
// anything: no byte of it is believed, and those of a cubin are each there
// once, and have together no more bytes than the image.
// UNIMPLEMENTED: it is neither PTX nor a cubin.
absl::StatusOr<std::vector<std::string>> VariableNames(absl::string_view image);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_VARIABLE_NAMES_H_
