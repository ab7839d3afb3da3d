// SPDX-License-Identifier: Apache-2.0
#include "server/daemon/config_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/config/runtime_directory.h"
#include "server/process/user_range.h"
#include "server/restart/successor.h"
#include "server/rpc/credentials.h"
#include "server/rpc/endpoint.h"
#include "server/rpc/tcp_listener.h"
#include "server/rpc/tls_certificates.h"
#include "server/telemetry/exporter_library.h"
#include "server/telemetry/metrics_server.h"
#include "server/tenants/audit_log.h"
#include "server/tenants/policy.h"
#include "server/tenants/policy_file.h"

namespace holdfast::server {
namespace {

absl::Status CheckStateFormat(int format) {
  if (format <= kStateFormat) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this daemon takes state in formats up to ", kStateFormat,
                   ", not ", format));
}

absl::Status CheckAddresses(const Config& config) {
  std::shared_ptr<TlsCertificates> tls;
  if (!config.tls.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(tls, TlsCertificates::Load(config.tls));
    // Not before an upgrade: the running daemon serves with these files
    // already.
    if (config.takes_state == 0) {
      HOLDFAST_RETURN_IF_ERROR(tls->CheckTime());
    }
  }
  std::set<std::string> known;
  for (const Endpoint& endpoint : config.listen) {
    const std::string address = endpoint.ToString();
    const bool is_tcp = endpoint.kind == Endpoint::Kind::kTcp;
    if (!known.insert(address).second && !(is_tcp && endpoint.port == 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--listen: ", address, " is given twice"));
    }
    if (!is_tcp) continue;
    HOLDFAST_RETURN_IF_ERROR(
        MakeTcpCredentials(endpoint, tls, config.insecure).status());
  }
  return absl::OkStatus();
}

// Returns the TCP endpoints of the daemon, including the endpoint of metrics.
std::vector<Endpoint> TcpEndpoints(const Config& config) {
  std::vector<Endpoint> endpoints;
  for (const Endpoint& endpoint : config.listen) {
    if (endpoint.kind == Endpoint::Kind::kTcp) endpoints.push_back(endpoint);
  }
  if (config.metrics_address.has_value()) {
    endpoints.push_back(*config.metrics_address);
  }
  return endpoints;
}

// Before an upgrade, binds each address on which the running daemon does not
// listen. If such a port were in use, the upgrade would end the daemon.
absl::Status CheckFree(const Config& config) {
  const char* const taken = std::getenv(kTakenAddresses);
  if (taken == nullptr) return absl::OkStatus();
  const std::vector<std::string> own = absl::StrSplit(taken, ',');
  for (const Endpoint& endpoint : TcpEndpoints(config)) {
    if (absl::c_linear_search(own, endpoint.ToString())) continue;
    HOLDFAST_RETURN_IF_ERROR(TcpListener::Listen(endpoint).status());
  }
  return absl::OkStatus();
}

absl::Status CheckMetrics(const Config& config) {
  if (!config.metrics_address.has_value()) return absl::OkStatus();
  HOLDFAST_RETURN_IF_ERROR(MetricsServer::CheckReach(
      *config.metrics_address, config.metrics_beyond_loopback));
  if (!config.metrics_password_file.empty()) {
    HOLDFAST_RETURN_IF_ERROR(
        ReadPassword(config.metrics_password_file).status());
  }
  return ExporterLibrary::Load().status();
}

absl::Status CheckFolders(const Config& config) {
  // Root runs this check for the service's user, who owns the folder: comparing
  // the owner with root would refuse it.
  if (geteuid() != 0) {
    HOLDFAST_RETURN_IF_ERROR(CheckSuspendDirectory(config.suspend_directory));
  }
  HOLDFAST_RETURN_IF_ERROR(RuntimeDirectory::Check(config.runtime_dir));
  return config.audit_log.empty() ? absl::OkStatus()
                                  : AuditLog::Check(config.audit_log);
}

absl::Status CheckPolicy(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(const Policy policy, ReadPolicy(path));
  LogInfo(path, " is right: ", policy.tenants.size(), " tenants");
  if (NeedsDevices(policy)) {
    LogInfo("its reservations and quotas are compared with the devices when ",
            "the daemon loads it");
  }
  return absl::OkStatus();
}

}  // namespace

// Files in the directory contain the device memory of suspended sessions.
absl::Status CheckSuspendDirectory(const std::string& path) {
  struct stat info = {};
  if (path.empty()) return absl::OkStatus();
  if (stat(path.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("--suspend-directory=", path));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
      (info.st_uid == geteuid() || info.st_uid == 0)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("--suspend-directory=", path,
                   ": others may write there, and could replace the memory of "
                   "suspended sessions: chmod go-w"));
}

std::string TakenAddresses(const Config& config) {
  return absl::StrJoin(TcpEndpoints(config), ",",
                       [](std::string* out, const Endpoint& endpoint) {
                         out->append(endpoint.ToString());
                       });
}

absl::Status CheckConfig(const Config& config) {
  HOLDFAST_RETURN_IF_ERROR(CheckStateFormat(config.takes_state));
  HOLDFAST_RETURN_IF_ERROR(CheckAddresses(config));
  HOLDFAST_RETURN_IF_ERROR(CheckFree(config));
  HOLDFAST_RETURN_IF_ERROR(CheckMetrics(config));
  HOLDFAST_RETURN_IF_ERROR(CheckFolders(config));
  if (!config.user_range.empty()) {
    HOLDFAST_RETURN_IF_ERROR(UserRange::Parse(config.user_range).status());
  }
  if (config.device == "cuda") {
    LogInfo(
        "--device=cuda: the driver and its devices are looked for when the ",
        "daemon starts");
  }
  return CheckPolicy(config.policy);
}

}  // namespace holdfast::server
