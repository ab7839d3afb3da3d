// SPDX-License-Identifier: Apache-2.0
#include "client/cli/admin_command.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/json_writer.h"
#include "client/cli/usage_error.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/connection/daemon.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

struct DrainOptions {
  std::string timeout;  // as absl::ParseDuration has it; empty: none
  bool stop = false;
};

absl::StatusOr<absl::Duration> TimeoutOf(const DrainOptions& drain) {
  if (drain.timeout.empty()) return absl::InfiniteDuration();
  absl::Duration timeout;
  if (absl::ParseDuration(drain.timeout, &timeout) &&
      timeout >= absl::ZeroDuration()) {
    return timeout;
  }
  return UsageError(absl::InvalidArgumentError(absl::StrCat(
      "--timeout=", drain.timeout, " is no time: give one as 30s or 5m")));
}

absl::Status RunStop(const CommonOptions& options, Daemon& daemon) {
  HOLDFAST_RETURN_IF_ERROR(StopDrain(daemon));
  if (options.json) std::puts("{\"draining\": false}");
  return absl::OkStatus();
}

absl::Status RunDrain(const CommonOptions& options, const DrainOptions& drain) {
  HOLDFAST_ASSIGN_OR_RETURN(const absl::Duration timeout, TimeoutOf(drain));
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  if (drain.stop) return RunStop(options, *daemon);
  HOLDFAST_ASSIGN_OR_RETURN(const uint32_t left, Drain(*daemon, timeout));
  if (left == 0) {
    std::puts(options.json ? "{\"sessions_left\": 0}"
                           : "drained: no session is left, and none is opened");
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError(absl::StrCat(
      left, left == 1 ? " session is" : " sessions are", " still open after ",
      absl::FormatDuration(timeout),
      "; no new ones are opened until `holdfast admin drain --stop`"));
}

absl::Status RunUpgrade(const CommonOptions& options,
                        const DrainOptions& upgrade) {
  HOLDFAST_ASSIGN_OR_RETURN(absl::Duration timeout, TimeoutOf(upgrade));
  if (upgrade.timeout.empty()) timeout = absl::ZeroDuration();
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  HOLDFAST_ASSIGN_OR_RETURN(const Upgraded upgraded, Upgrade(*daemon, timeout));
  const double seconds = absl::ToDoubleSeconds(upgraded.pause);
  if (options.json) {
    JsonWriter json;
    json.BeginObject()
        .Member("version", upgraded.version)
        .Member("pause_seconds", seconds)
        .EndObject();
    std::puts(json.text().c_str());
  } else {
    std::printf("%s serves, after a pause of %.0f ms\n",
                upgraded.version.c_str(), seconds * 1000);
  }
  return absl::OkStatus();
}

}  // namespace

void AddAdminCommand(CLI::App* app, CommonOptions* options,
                     absl::Status* status) {
  CLI::App* admin = AddGroup(app, options, "admin",
                             "Drain or upgrade the daemon, for operators");
  const auto drain = std::make_shared<DrainOptions>();
  CLI::App* command = AddCommand(
      admin, options, "drain",
      "Open no new sessions, and wait until the last one has ended",
      [options, drain] { return RunDrain(*options, *drain); }, status);
  command->add_option("--timeout", drain->timeout,
                      "The longest wait, e.g. 30s (default: no limit)");
  command->add_flag("--stop", drain->stop, "Open sessions again");
  const auto upgrade = std::make_shared<DrainOptions>();
  CLI::App* upgrade_command = AddCommand(
      admin, options, "upgrade",
      "Execute the daemon's new binary in the same process; sessions stay",
      [options, upgrade] { return RunUpgrade(*options, *upgrade); }, status);
  upgrade_command->add_option(
      "--timeout", upgrade->timeout,
      "The longest wait for work that has arrived, e.g. 5m (default: 30s)");
}

}  // namespace holdfast::cli
