// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_SYSTEM_CALLS_H_
#define HOLDFAST_SERVER_COMPILE_SYSTEM_CALLS_H_

#include "absl/status/status.h"

namespace holdfast {

// From now on, and for good, this process can start no process or program, open
// no connection, change no file, name or mount, trace or signal no other
// process, and load nothing into the kernel: such calls answer EPERM. It can
// compute, start threads, open files for reading, and use the descriptors that
// it has. UNAVAILABLE: the kernel has no seccomp filters.
absl::Status ForbidSystemCalls();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_SYSTEM_CALLS_H_
