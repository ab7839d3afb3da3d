// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_SANDBOX_LANDLOCK_H_
#define HOLDFAST_SERVER_PROCESS_SANDBOX_LANDLOCK_H_

#include <vector>

#include "absl/status/status.h"
#include "server/process/sandbox/policy.h"

namespace holdfast {

// Restricts this thread, and threads that it starts later, to these paths and
// the files below them, with the given access. The restriction is permanent. If
// the kernel supports it, also forbids TCP, and signals and abstract sockets to
// processes outside the restricted threads. May be called again to restrict
// further. UNAVAILABLE: the kernel has no Landlock.
absl::Status AllowFiles(const std::vector<VisiblePath>& files);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_LANDLOCK_H_
