// SPDX-License-Identifier: Apache-2.0
//
// Linux namespaces for the daemon's children, which hide the machine's files,
// processes and network.
#ifndef HOLDFAST_SERVER_PROCESS_SANDBOX_NAMESPACES_H_
#define HOLDFAST_SERVER_PROCESS_SANDBOX_NAMESPACES_H_

#include <sys/types.h>

#include <vector>

#include "absl/status/status.h"
#include "server/process/sandbox/policy.h"

namespace holdfast {

// Forks a child into new namespaces. Returns as fork does. If the caller is not
// root, or may not make namespaces as root, the child also gets a user
// namespace, in which it is root without privileges outside. Sets *entered to
// `wanted`. If the kernel or the administrator forbids namespaces, makes an
// ordinary fork and sets *entered to kNone. With kAll, the child is process 1
// of its namespace. REQUIRES: the caller has one thread.
pid_t ForkIntoNamespaces(Namespaces wanted, Namespaces* entered);

// Hides all files of this process except `files`. Each path stays visible under
// its given name and its real path (PlanFileView), read-only except for devices
// and kWrite paths. Paths that do not exist or cannot be opened are skipped.
// UNAVAILABLE: a mount failed. REQUIRES: the process has a mount namespace of
// its own, and the capabilities of root there.
absl::Status ShowOnly(const std::vector<VisiblePath>& files);

// Drops every capability of this thread and of threads that it starts later.
absl::Status DropCapabilities();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_NAMESPACES_H_
