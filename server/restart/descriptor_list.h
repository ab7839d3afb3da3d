// SPDX-License-Identifier: Apache-2.0
//
// Passes named descriptors to the program that a process executes. The
// descriptors keep their numbers; an environment variable has the number of a
// memfd that lists numbers and names. $LISTEN_FDNAMES cannot hold many names,
// because the kernel limits a string of the environment to 128 KiB.
#ifndef HOLDFAST_SERVER_RESTART_DESCRIPTOR_LIST_H_
#define HOLDFAST_SERVER_RESTART_DESCRIPTOR_LIST_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// Prepares this process for execv, after which the program gets `descriptors`
// by TakeListedDescriptors. Clears close-on-exec of the descriptors, which the
// caller still owns. Names must not contain newlines. Returns an error if a
// descriptor is not open or the memfd cannot be made. REQUIRES: the process has
// one thread, or executes the program next.
absl::Status ListDescriptors(
    const std::vector<std::pair<std::string, int>>& descriptors);

// Returns the names and descriptors that this process got, marked
// close-on-exec; an empty vector if there is no list. Unsets the variable.
// INVALID_ARGUMENT: the list is malformed. REQUIRES: the process has one
// thread; called once.
absl::StatusOr<std::vector<std::pair<std::string, UniqueFd>>>
TakeListedDescriptors();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_DESCRIPTOR_LIST_H_
