// SPDX-License-Identifier: Apache-2.0
#include "client/cli/version_command.h"

#include <cstdio>

#include "client/cli/each_daemon.h"
#include "client/cli/json_writer.h"
#include "client/cli/version.h"
#include "client/cpp/connection/daemon.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/admin.pb.h"

namespace holdfast::cli {
namespace {

using ServerInfo = v1::GetServerInfoResponse;

void WriteVersions(const ServerInfo& info, JsonWriter* json) {
  json->Member("client", kVersion)
      .BeginObject("daemon")
      .Member("version", info.version())
      .Member("pid", info.pid())
      .Member("host", info.host())
      .Member("compiler", info.compiler())
      .Member("compiler_confinement", info.compiler_confinement())
      .Member("sessions", info.sessions())
      .Member("max_sessions", info.max_sessions())
      .EndObject();
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

absl::Status ShowDaemonsVersion(const std::shared_ptr<Daemon>& daemon,
                                JsonWriter* json) {
  HOLDFAST_ASSIGN_OR_RETURN(const ServerInfo info, daemon->Info());
  if (json != nullptr) {
    WriteVersions(info, json);
  } else {
    PrintDaemon(info);
  }
  return absl::OkStatus();
}

// Without a daemon there is still a client to tell about, before the failure.
absl::Status ShowVersion(const CommonOptions& options) {
  if (!options.json) {
    std::printf("client %s\n", kVersion);
    std::fflush(stdout);
  }
  return ShowEachDaemon(options, ShowDaemonsVersion);
}

}  // namespace

void AddVersionCommand(CLI::App* app, CommonOptions* options,
                       absl::Status* status) {
  AddCommand(
      app, options, "version", "Show the versions of client and daemon",
      [options] { return ShowVersion(*options); }, status, Addresses::kSeveral);
}

}  // namespace holdfast::cli
