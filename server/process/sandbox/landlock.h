// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_SANDBOX_LANDLOCK_H_
#define HOLDFAST_SERVER_PROCESS_SANDBOX_LANDLOCK_H_

#include <vector>

#include "absl/status/status.h"
#include "server/process/sandbox/policy.h"

namespace holdfast {

// From now on, and for good, this thread and those that it starts can open
// only what lies at or below these paths, with the access given. Where the
// kernel knows how, they can also reach no TCP port, and no process outside by
// a signal or an abstract socket. May be called again, to allow less.
// UNAVAILABLE: the kernel has no Landlock.
absl::Status AllowFiles(const std::vector<VisiblePath>& files);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_LANDLOCK_H_
