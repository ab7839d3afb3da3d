// SPDX-License-Identifier: Apache-2.0
//
// How a process passes named descriptors to the program that it executes: under
// their own numbers, with a list in a memfd that a variable of the environment
// names. $LISTEN_FDNAMES cannot hold many names, since the kernel allows one
// string of the environment 128 KiB.
#ifndef HOLDFAST_SERVER_RESTART_DESCRIPTOR_LIST_H_
#define HOLDFAST_SERVER_RESTART_DESCRIPTOR_LIST_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// Prepares this process for execv: the program takes `descriptors`, which stay
// the caller's, by TakeListedDescriptors. Names must not contain newlines.
// REQUIRES: the process has one thread, or executes the program next.
absl::Status ListDescriptors(
    const std::vector<std::pair<std::string, int>>& descriptors);

// Returns the descriptors that this process was executed with, marked
// close-on-exec; none if there is no list. Unsets the variable.
// INVALID_ARGUMENT: the list is wrong.
// REQUIRES: the process has one thread; called once.
absl::StatusOr<std::vector<std::pair<std::string, UniqueFd>>>
TakeListedDescriptors();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_DESCRIPTOR_LIST_H_
