// SPDX-License-Identifier: Apache-2.0
//
// Commands that only read, and can therefore show several daemons at once.
#ifndef HOLDFAST_CLIENT_CLI_EACH_DAEMON_H_
#define HOLDFAST_CLIENT_CLI_EACH_DAEMON_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "client/cli/command.h"
#include "client/cli/json_writer.h"
#include "client/cpp/connection/daemon.h"

namespace holdfast::cli {

// Shows one daemon. With --json, adds members to `json`; else `json` is null,
// and text goes to stdout. Writes nothing before the daemon has answered.
using ShowDaemon = std::function<absl::Status(
    const std::shared_ptr<Daemon>& daemon, JsonWriter* json)>;

// Shows the daemon of each address. If there are several addresses, each daemon
// has a section under its host's name. With --json, one array has an object
// with "host" and "address" for each daemon. If `show` fails for a daemon, the
// error is reported on stderr, and the other daemons are shown. Returns the
// first failure.
absl::Status ShowEachDaemon(const CommonOptions& options,
                            const ShowDaemon& show);

// Adds a command that calls ShowEachDaemon().
CLI::App* AddLook(CLI::App* app, CommonOptions* options,
                  const std::string& name, const std::string& summary,
                  ShowDaemon show, absl::Status* status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_EACH_DAEMON_H_
