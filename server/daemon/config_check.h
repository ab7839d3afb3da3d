// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_DAEMON_CONFIG_CHECK_H_
#define HOLDFAST_SERVER_DAEMON_CONFIG_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "server/config/config.h"

namespace holdfast::server {

// --check-config: checks all that a start would refuse and that can be known
// without devices, without binding an address and without changing a file. A
// daemon runs it in its successor before it makes way. Logs what is right with
// the policy. What is open to this user only may be closed to the daemon's.
absl::Status CheckConfig(const Config& config);

// Checks the directory that sessions' memory may be written to.
// PERMISSION_DENIED: others may write there.
absl::Status CheckSuspendDirectory(const std::string& path);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_CONFIG_CHECK_H_
