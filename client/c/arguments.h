// SPDX-License-Identifier: Apache-2.0
//
// Converts the configurations and arguments of launches, on a stream and in
// graphs.
#ifndef HOLDFAST_CLIENT_C_ARGUMENTS_H_
#define HOLDFAST_CLIENT_C_ARGUMENTS_H_

#include <cstddef>
#include <memory>
#include <span>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "client/c/holdfast.h"
#include "client/cpp/argument.h"
#include "client/cpp/launch.h"

namespace holdfast::c {

using Arguments = absl::InlinedVector<Argument, 16>;

// ToConfig and ToArguments fill an object of the caller. Every launch calls
// these functions, and returning the object by value would double their cost.

// Sets `config` to `given`, completed with the defaults. INVALID_ARGUMENT: an
// unknown attribute, or a number that its type cannot hold.
absl::Status ToConfig(const hf_launch_config& given, LaunchConfig& config);

// Sets the arguments, which refer to the objects of `given`. INVALID_ARGUMENT:
// an unknown kind, or a buffer of another session than `session`, in which its
// handle would name another object.
absl::Status ToArguments(std::span<const hf_argument> given,
                         const std::shared_ptr<SessionState>& session,
                         Arguments& arguments);

}  // namespace holdfast::c

#endif  // HOLDFAST_CLIENT_C_ARGUMENTS_H_
