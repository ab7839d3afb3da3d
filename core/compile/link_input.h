// SPDX-License-Identifier: Apache-2.0
//
// nvJitLink believes the headers of what it is given and crashes where they
// lie. Inputs come from clients, so they are checked first.
#ifndef HOLDFAST_CORE_COMPILE_LINK_INPUT_H_
#define HOLDFAST_CORE_COMPILE_LINK_INPUT_H_

#include "absl/status/status.h"
#include "core/compile/program.h"

namespace holdfast::compile {

// INVALID_ARGUMENT: empty, truncated, not of the format it is said to be, or a
// cubin that is linked already.
absl::Status CheckLinkInput(const LinkInput& input);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_LINK_INPUT_H_
