// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_SANDBOX_SECCOMP_H_
#define HOLDFAST_SERVER_PROCESS_SANDBOX_SECCOMP_H_

#include "absl/status/status.h"
#include "server/process/sandbox/policy.h"

namespace holdfast {

// From now on, and for good, every thread of this process can make only the
// system calls that seccomp.inc lists for the role. It can compute, start
// threads, and use the descriptors that it has; it can start no process or
// program, make no socket or connection, change no file, name or mount, trace
// or signal no other process. Other calls fail with EPERM, or with ENOSYS where
// libc then takes an older one. UNAVAILABLE: the kernel has no seccomp filters.
absl::Status AllowSystemCalls(SandboxRole role);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_SECCOMP_H_
