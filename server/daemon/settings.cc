// SPDX-License-Identifier: Apache-2.0
#include "server/daemon/settings.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/config/child_arguments.h"
#include "server/daemon/config_check.h"
#include "server/rpc/tls_certificates.h"
#include "server/tenants/policy.h"
#include "server/tenants/policy_file.h"

namespace holdfast::server {
namespace {

// The wait for devices that a policy divides.
constexpr absl::Duration kDevicesOfPolicy = absl::Seconds(30);

// Where no device works, a policy cannot be compared with it.
void AwaitDevices(DaemonParts& parts) {
  const auto devices =
      parts.fleet.executors().Devices(absl::Now() + kDevicesOfPolicy);
  if (devices.ok()) return;
  LogWarning("the policy's reservations are not compared with devices: ",
             devices.status().message());
}

absl::Status LoadPolicy(const Config& config, DaemonParts& parts) {
  if (config.policy.empty()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(const Policy policy, ReadPolicy(config.policy));
  if (NeedsDevices(policy)) AwaitDevices(parts);
  HOLDFAST_RETURN_IF_ERROR(parts.tenants.Apply(policy));
  parts.fleet.Retain(SharingOf(policy));
  return absl::OkStatus();
}

absl::Status LoadCertificates(const Config& config, DaemonParts& parts) {
  if (config.tls.empty()) return absl::OkStatus();
  if (parts.tls != nullptr) return parts.tls->Reload();
  HOLDFAST_ASSIGN_OR_RETURN(parts.tls, TlsCertificates::Load(config.tls));
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadSettings(const Config& config, DaemonParts& parts) {
  if (config.policy.empty() && ServesOthers(config)) {
    LogWarning(
        "no --policy: everybody who can connect is served, without a quota");
  }
  HOLDFAST_RETURN_IF_ERROR(CheckSuspendDirectory(config.suspend_directory));
  HOLDFAST_RETURN_IF_ERROR(LoadPolicy(config, parts));
  return LoadCertificates(config, parts);
}

absl::Status ReloadSettings(const Config& config, DaemonParts& parts) {
  const absl::Status policy = LoadPolicy(config, parts);
  if (!policy.ok()) {
    LogError("SIGHUP: the policy stays as it was: ", policy.message());
  } else if (!config.policy.empty()) {
    LogInfo("SIGHUP: the policy is in force");
  } else if (config.tls.empty() && config.audit_log.empty()) {
    LogInfo("SIGHUP: there is no policy, certificate or audit log to read");
  }
  if (config.file_version != FileVersion(config.file)) {
    LogWarning("SIGHUP: ", config.file, " has changed, and is not read again; ",
               "`holdfast admin upgrade` and a restart read it");
  }
  const absl::Status certificates = LoadCertificates(config, parts);
  if (!certificates.ok()) {
    LogError("SIGHUP: the certificates stay as they were: ",
             certificates.message());
  } else if (parts.tls != nullptr) {
    LogInfo("SIGHUP: new connections get the certificates as they are now");
  }
  const absl::Status audit = parts.audit->Reopen();
  if (!audit.ok()) LogError("SIGHUP: ", audit.message());
  absl::Status outcome = policy;
  outcome.Update(certificates);
  return outcome;
}

}  // namespace holdfast::server
