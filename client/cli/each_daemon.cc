// SPDX-License-Identifier: Apache-2.0
#include "client/cli/each_daemon.h"

#include <cstdio>
#include <future>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/admin.pb.h"

namespace holdfast::cli {
namespace {

struct Reached {
  std::shared_ptr<Daemon> daemon;
  std::string host;
};

absl::StatusOr<Reached> Reach(const std::string& address) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(address));
  HOLDFAST_ASSIGN_OR_RETURN(const auto info, daemon->Info());
  return Reached{.daemon = std::move(daemon), .host = info.host()};
}

// At the same time, so that machines that are off cost one time limit together.
std::vector<absl::StatusOr<Reached>> ReachAll(
    const std::vector<std::string>& addresses) {
  std::vector<std::future<absl::StatusOr<Reached>>> calls;
  calls.reserve(addresses.size());
  for (const std::string& address : addresses) {
    calls.push_back(std::async(std::launch::async, Reach, address));
  }
  std::vector<absl::StatusOr<Reached>> reached;
  reached.reserve(calls.size());
  for (auto& call : calls) reached.push_back(call.get());
  return reached;
}

absl::Status ShowOneDaemon(const CommonOptions& options,
                           const ShowDaemon& show) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto daemon,
                            Daemon::Connect(options.address));
  if (!options.json) return show(daemon, nullptr);
  JsonWriter json;
  json.BeginObject();
  HOLDFAST_RETURN_IF_ERROR(show(daemon, &json));
  std::puts(json.EndObject().text().c_str());
  return absl::OkStatus();
}

// Prints the heading of a section, after a blank line unless it is the first.
void PrintHeading(const std::string& host, const std::string& address,
                  bool* is_first) {
  if (!*is_first) std::puts("");
  *is_first = false;
  PrintTitle(ToPrintable(absl::StrCat(host, "  ", address)));
}

// Shows the members of the daemon's object, or its section if `json` is null.
absl::Status ShowReached(const Reached& reached, const std::string& address,
                         const ShowDaemon& show, JsonWriter* json,
                         bool* is_first) {
  if (json != nullptr) {
    json->Member("host", reached.host);
  } else {
    PrintHeading(reached.host, address, is_first);
  }
  return show(reached.daemon, json);
}

absl::Status ShowSections(const CommonOptions& options, const ShowDaemon& show,
                          JsonWriter* json) {
  const auto reached = ReachAll(options.addresses);
  absl::Status failure;
  bool is_first = true;
  for (size_t i = 0; i < reached.size(); ++i) {
    const std::string& address = options.addresses[i];
    if (json != nullptr) json->BeginObject().Member("address", address);
    const absl::Status shown =
        reached[i].ok()
            ? ShowReached(*reached[i], address, show, json, &is_first)
            : reached[i].status();
    failure.Update(ReportOfOne(address, shown, json));
    if (json != nullptr) json->EndObject();
  }
  return failure;
}

}  // namespace

absl::Status ShowEachDaemon(const CommonOptions& options,
                            const ShowDaemon& show) {
  if (options.addresses.size() < 2) return ShowOneDaemon(options, show);
  if (!options.json) return ShowSections(options, show, nullptr);
  JsonWriter json;
  json.BeginArray();
  const absl::Status status = ShowSections(options, show, &json);
  std::puts(json.EndArray().text().c_str());
  return status;
}

CLI::App* AddLook(CLI::App* app, CommonOptions* options,
                  const std::string& name, const std::string& summary,
                  ShowDaemon show, absl::Status* status) {
  return AddCommand(
      app, options, name, summary,
      [options, show = std::move(show)] {
        return ShowEachDaemon(*options, show);
      },
      status, Addresses::kSeveral);
}

}  // namespace holdfast::cli
