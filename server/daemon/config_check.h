// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_DAEMON_CONFIG_CHECK_H_
#define HOLDFAST_SERVER_DAEMON_CONFIG_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "server/config/config.h"

namespace holdfast::server {

// Checks the options, and the files and directories that they name, for
// --check-config. Uses no device, binds no address and changes no file. Returns
// the first error. Before an upgrade, the daemon runs the new binary with
// --check-config. Logs the policy's number of tenants.
//
// Does not check resource limits, nor the suspend directory if the user is
// root. Permissions are checked for the user of this process, who may have more
// permissions than the daemon's user.
absl::Status CheckConfig(const Config& config);

// Checks the directory for the memory of suspended sessions; an empty path is
// OK. PERMISSION_DENIED: its owner is neither this user nor root, or its group
// or other users may write there. Other errors: those of stat().
absl::Status CheckSuspendDirectory(const std::string& path);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_CONFIG_CHECK_H_
