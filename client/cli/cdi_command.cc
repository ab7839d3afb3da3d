// SPDX-License-Identifier: Apache-2.0
#include "client/cli/cdi_command.h"

#include <cstdio>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/json_writer.h"
#include "client/cli/usage_error.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

constexpr char kFooter[] = R"(
Example:
  holdfast cdi > /etc/cdi/holdfast.json
  podman run --device=holdfast.dev/daemon=all IMAGE COMMAND

Clients in the container find the daemon by HOLDFAST_ADDRESS. The daemon
knows them by the user that they run as, or by HOLDFAST_TOKEN.)";

absl::Status Print(const std::string& directory) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string specification,
                            CdiSpecification(directory));
  std::puts(specification.c_str());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> CdiSpecification(const std::string& directory) {
  if (!absl::StartsWith(directory, "/")) {
    return UsageError(absl::InvalidArgumentError(
        absl::StrCat("--directory: ", directory, " is no absolute path")));
  }
  JsonWriter json;
  // The oldest version that has what is used; engines refuse those that are
  // newer than they.
  json.BeginObject()
      .Member("cdiVersion", "0.5.0")
      .Member("kind", "holdfast.dev/daemon")
      .BeginArray("devices")
      .BeginObject()
      .Member("name", "all")
      .BeginObject("containerEdits")
      .BeginArray("env")
      .Value(
          absl::StrCat("HOLDFAST_ADDRESS=unix:", directory, "/holdfast.sock"))
      .EndArray()
      .BeginArray("mounts")
      .BeginObject()
      .Member("hostPath", directory)
      // The same: the daemon names the sockets of sessions as it sees them.
      .Member("containerPath", directory)
      .BeginArray("options")
      .Value("rbind")
      .Value("ro")
      .EndArray()
      .EndObject()
      .EndArray()
      .EndObject()
      .EndObject()
      .EndArray()
      .EndObject();
  return json.text();
}

void AddCdiCommand(CLI::App* app, CommonOptions* options,
                   absl::Status* status) {
  const auto directory = std::make_shared<std::string>("/run/holdfast");
  CLI::App* command = AddCommand(
      app, options, "cdi",
      "Print the CDI specification that gives a container access to the daemon",
      [directory] { return Print(*directory); }, status);
  command
      ->add_option("--directory", *directory,
                   "The folder of the daemon's sockets; it has holdfast.sock")
      ->type_name("DIR")
      ->capture_default_str();
  command->footer(kFooter);
}

}  // namespace holdfast::cli
