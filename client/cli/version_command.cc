// SPDX-License-Identifier: Apache-2.0
#include "client/cli/version_command.h"

#include <cstdio>

#include "client/cli/json_writer.h"
#include "client/cli/version.h"
#include "client/cpp/connection/daemon.h"
#include "holdfast/v1/admin.pb.h"

namespace holdfast::cli {
namespace {

using ServerInfo = v1::GetServerInfoResponse;

absl::StatusOr<ServerInfo> AskDaemon(const std::string& address) {
  absl::StatusOr<std::shared_ptr<Daemon>> daemon = Daemon::Connect(address);
  if (!daemon.ok()) return daemon.status();
  return (*daemon)->Info();
}

void PrintJson(const ServerInfo& info) {
  JsonWriter json;
  json.BeginObject()
      .Member("client", kVersion)
      .BeginObject("daemon")
      .Member("version", info.version())
      .Member("pid", info.pid())
      .Member("host", info.host())
      .Member("compiler", info.compiler())
      .Member("compiler_confinement", info.compiler_confinement())
      .Member("sessions", info.sessions())
      .Member("max_sessions", info.max_sessions())
      .EndObject();
  std::puts(json.EndObject().text().c_str());
}

void PrintDaemon(const ServerInfo& info) {
  const std::string compiler =
      info.compiler().empty() ? "no compiler yet" : info.compiler();
  std::printf("daemon %s on %s, pid %lld, %s, %u of %u sessions\n",
              info.version().c_str(), info.host().c_str(),
              static_cast<long long>(info.pid()), compiler.c_str(),
              info.sessions(), info.max_sessions());
  if (info.compiler_confinement().empty()) return;
  std::printf("compilers are confined: %s\n",
              info.compiler_confinement().c_str());
}

// Without a daemon there is still a client to tell about, before the failure.
absl::Status ShowVersion(const CommonOptions& options) {
  const absl::StatusOr<ServerInfo> info = AskDaemon(options.address);
  if (info.ok() && options.json) {
    PrintJson(*info);
  } else if (!options.json) {
    std::printf("client %s\n", kVersion);
    std::fflush(stdout);
    if (info.ok()) PrintDaemon(*info);
  }
  return info.status();
}

}  // namespace

void AddVersionCommand(CLI::App* app, CommonOptions* options,
                       absl::Status* status) {
  AddCommand(
      app, options, "version", "Show the versions of client and daemon",
      [options] { return ShowVersion(*options); }, status);
}

}  // namespace holdfast::cli
