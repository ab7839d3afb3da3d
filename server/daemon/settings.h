// SPDX-License-Identifier: Apache-2.0
//
// The files that an operator may change while the daemon runs: they are read
// when it starts, and again at each SIGHUP. One that cannot be read, or is not
// right, ends the start, but changes nothing later. Flags and the configuration
// file are read once.
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

// For the start. Blocks for up to 30 s until devices are known, if the policy
// divides their memory; where no device works it is not compared with them.
absl::Status LoadSettings(const Config& config, DaemonParts& parts);

// For SIGHUP: each file by itself. Logs what became of it; returns the first
// error of policy and certificates.
absl::Status ReloadSettings(const Config& config, DaemonParts& parts);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_SETTINGS_H_
