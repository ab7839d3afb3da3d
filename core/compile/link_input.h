// SPDX-License-Identifier: Apache-2.0
//
// Checks the inputs of nvJitLink. nvJitLink trusts the headers of its inputs,
// and crashes if they are wrong. Inputs come from clients, so they are checked
// first.
#ifndef HOLDFAST_CORE_COMPILE_LINK_INPUT_H_
#define HOLDFAST_CORE_COMPILE_LINK_INPUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/compile/program.h"

namespace holdfast::compile {

// Checks an input. INVALID_ARGUMENT: it is empty or truncated, does not have
// the format `input.format`, or is a cubin that is linked already. Checks only
// the header of LTO IR, which has two offsets that nvJitLink follows without a
// check; nvJitLink checks everything else in LTO IR itself. Does not check the
// members of a library.
absl::Status CheckLinkInput(const LinkInput& input);

// Returns true if the input is a fat binary or a host object. Both contain
// modules, which UnpackPtx extracts.
bool IsContainer(const LinkInput& input);

// Returns the PTX modules in a container: from each fat binary, the module for
// the highest architecture up to `arch`. INVALID_ARGUMENT: CheckLinkInput
// refuses the container. If it has no PTX, the ErrorDetail of the returned
// status has the result CUDA_ERROR_NO_BINARY_FOR_GPU.
absl::StatusOr<std::vector<std::string>> UnpackPtx(const LinkInput& input,
                                                   absl::string_view arch);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_LINK_INPUT_H_
