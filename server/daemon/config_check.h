// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_DAEMON_CONFIG_CHECK_H_
#define HOLDFAST_SERVER_DAEMON_CONFIG_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "server/config/config.h"

namespace holdfast::server {

// --check-config: checks the options, and the files and folders that they name,
// without devices, without binding an address and without changing a file. Does
// not check resource limits, nor the suspend directory if the user is root.
// Before an upgrade, the daemon runs the new binary with --check-config, which
// then also binds the TCP addresses that are new in the configuration. If the
// policy is valid, its number of tenants is logged. Permissions are checked for
// the user of this process, which may have more permissions than the daemon's.
absl::Status CheckConfig(const Config& config);

// Returns the TCP addresses of a configuration, separated by commas, for
// kTakenAddresses.
std::string TakenAddresses(const Config& config);

// Checks the directory for the memory of suspended sessions; an empty path is
// OK. PERMISSION_DENIED: its owner is neither this user nor root, or its group
// or other users may write there. Other errors: those of stat().
absl::Status CheckSuspendDirectory(const std::string& path);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_CONFIG_CHECK_H_
