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

// Forks into new namespaces. A daemon that is not root gets a user namespace
// for it, in which the child is root without outside privileges. Sets *entered
// to `wanted`, or, if the kernel or the administrator forbids namespaces, to
// kNone: an ordinary fork. With kAll, the child is process 1 of its namespace.
// REQUIRES: the caller has one thread.
pid_t ForkIntoNamespaces(Namespaces wanted, Namespaces* entered);

// Makes these paths the only ones below "/", read-only except for devices and
// kWrite paths, each under its given name and its real path (PlanFileView).
// Paths that do not exist are skipped. REQUIRES: a mount namespace of the
// process's own, and its root's capabilities.
absl::Status ShowOnly(const std::vector<VisiblePath>& files);

// Drops every capability, in this thread and in threads that it starts.
absl::Status DropCapabilities();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_NAMESPACES_H_
