// SPDX-License-Identifier: Apache-2.0
//
// The files that an operator may change while the daemon runs. The daemon reads
// them at the start, and again at each SIGHUP. If a file cannot be read or is
// wrong, the start fails; at SIGHUP, the old contents of that file stay in
// force. Flags and the configuration file are read once.
//
//   --policy       tenants, their quotas and devices, operators. A new policy
//                  is in force at once, for open sessions, too
//   --tls-...      certificate, key and CA. New files apply to new connections
//   --audit-log    the file is opened again by its name, so that it can be
//                  rotated
#ifndef HOLDFAST_SERVER_DAEMON_SETTINGS_H_
#define HOLDFAST_SERVER_DAEMON_SETTINGS_H_

#include "absl/status/status.h"
#include "server/config/config.h"
#include "server/daemon/parts.h"

namespace holdfast::server {

// Reads the files at the start, and returns the first error. If the policy's
// reservations or quotas depend on the devices, blocks for up to 30 s until the
// devices are known. If they are not known then, logs a warning and does not
// check the reservations.
absl::Status LoadSettings(const Config& config, DaemonParts& parts);

// Reads each file again at SIGHUP, and logs the outcome. Returns the error of
// the policy, or else the error of the certificates. May block as LoadSettings.
absl::Status ReloadSettings(const Config& config, DaemonParts& parts);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_SETTINGS_H_
