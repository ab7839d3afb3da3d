// SPDX-License-Identifier: Apache-2.0
//
// The files that an operator may change while the daemon runs. They are read at
// the start, and again at each SIGHUP. If a file cannot be read or is wrong,
// the start fails; at SIGHUP, its old contents stay in force. Flags and the
// configuration file are read once.
//
//   --policy       tenants, their quotas and devices, operators. In force at
//                  once, for open sessions too
//   --tls-...      certificate, key and CA; for connections made from then on
//   --audit-log    opened again by its name, so that it can be rotated
#ifndef HOLDFAST_SERVER_DAEMON_SETTINGS_H_
#define HOLDFAST_SERVER_DAEMON_SETTINGS_H_

#include "absl/status/status.h"
#include "server/config/config.h"
#include "server/daemon/parts.h"

namespace holdfast::server {

// Reads the files at the start. If the policy reserves device memory, blocks
// for up to 30 s until the devices are known. If no device works, the
// reservations are not checked.
absl::Status LoadSettings(const Config& config, DaemonParts& parts);

// Reads each file again at SIGHUP, and logs the outcome. Returns the first
// error of policy and certificates.
absl::Status ReloadSettings(const Config& config, DaemonParts& parts);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_SETTINGS_H_
