// SPDX-License-Identifier: Apache-2.0
//
// Linux namespaces for the daemon's children: views of files, processes and the
// network in which nothing of the machine's is left.
#ifndef HOLDFAST_SERVER_PROCESS_SANDBOX_NAMESPACES_H_
#define HOLDFAST_SERVER_PROCESS_SANDBOX_NAMESPACES_H_

#include <sys/types.h>

#include <vector>

#include "absl/status/status.h"
#include "server/process/sandbox/policy.h"

namespace holdfast {

// As fork, into new namespaces. Root needs no user namespace for that; others
// get one in which they are root, with no privilege outside. Sets *entered to
// what the kernel and the administrator allowed: `wanted`, or kNone, which is
// an ordinary fork. The child of kAll is process 1 of its namespace.
// REQUIRES: the caller has one thread.
pid_t ForkIntoNamespaces(Namespaces wanted, Namespaces* entered);

// Makes these paths all that there is below "/", read-only but for devices and
// what is kWrite, each under its name as it was given and under its real path:
// see PlanFileView. Paths that do not exist are skipped. REQUIRES: a mount
// namespace of its own, and its root's capabilities.
absl::Status ShowOnly(const std::vector<VisiblePath>& files);

// Gives up every capability, in this thread and those that it starts.
absl::Status DropCapabilities();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_NAMESPACES_H_
