// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_NAMESPACES_H_
#define HOLDFAST_SERVER_COMPILE_NAMESPACES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace holdfast {

// Moves this process to user, mount, network and IPC namespaces of its own:
// it has no network interface, and no privilege outside. UNAVAILABLE: the
// kernel or an administrator does not allow that. REQUIRES: one thread.
absl::Status EnterOwnNamespaces();

// Makes these directories, read-only, all that there is below "/"; those that
// do not exist are skipped. REQUIRES: EnterOwnNamespaces was OK.
absl::Status ShowOnly(const std::vector<std::string>& directories);

// Gives up what EnterOwnNamespaces gave it inside of them.
absl::Status DropCapabilities();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_NAMESPACES_H_
