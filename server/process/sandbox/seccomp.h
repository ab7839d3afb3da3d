// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_SANDBOX_SECCOMP_H_
#define HOLDFAST_SERVER_PROCESS_SANDBOX_SECCOMP_H_

#include "absl/status/status.h"
#include "server/process/sandbox/policy.h"

namespace holdfast {

// Permanently restricts every thread of this process to the system calls that
// seccomp.inc lists for the role. The process can compute, start threads and
// use its descriptors. It cannot start processes or programs, make sockets or
// connections, change files, names or mounts, or trace or signal other
// processes. Exception: the filter lets CUDA executors open files for writing;
// Landlock and mounts restrict these. Other calls fail with EPERM, or with
// ENOSYS if libc then falls back to an older call. UNAVAILABLE: the kernel
// refused the filter.
absl::Status AllowSystemCalls(SandboxRole role);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_SECCOMP_H_
