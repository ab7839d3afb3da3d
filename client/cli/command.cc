// SPDX-License-Identifier: Apache-2.0
#include "client/cli/command.h"

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/addresses.h"
#include "client/cli/color.h"
#include "client/cli/json_writer.h"
#include "client/cli/usage_error.h"
#include "client/cpp/connection/address.h"
#include "client/cpp/fault.h"
#include "core/base/error_detail.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/faults.pb.h"

namespace holdfast::cli {
namespace {

// "INVALID_ARGUMENT" as people read it.
std::string Kind(const absl::Status& status) {
  std::string kind = absl::StatusCodeToString(status.code());
  for (char& c : kind) c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  return kind;
}

// To stderr; each line by itself, since line feeds are escaped.
void PrintLines(absl::string_view text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::fprintf(stderr, "%s\n", ToPrintable(line).c_str());
  }
}

void PrintDetail(const absl::Status& status, const ErrorDetail& detail) {
  if (!detail.result_name.empty() &&
      !absl::StrContains(status.message(), detail.result_name)) {
    std::vector<absl::string_view> parts = {detail.call, detail.result_name,
                                            detail.explanation};
    std::erase(parts, "");
    PrintLines(absl::StrJoin(parts, ": "));
  }
  if (!absl::StrContains(status.message(), detail.log)) PrintLines(detail.log);
}

void PrintFault(const v1::FaultReport& report) {
  PrintLines(absl::StripPrefix(DescribeFaultWithoutCause(report), "\n"));
}

// On an error that ReportOfOne() has reported.
constexpr char kReported[] = "holdfast/reported";

// `prefix` begins the first line.
void PrintError(absl::string_view prefix, const absl::Status& status) {
  const Color color = ShowsColors(stderr) ? Color::kRed : Color::kNone;
  std::fputs(
      Colored(absl::StrCat("holdfast: ", Kind(status), ":"), color).c_str(),
      stderr);
  PrintLines(absl::StrCat(" ", prefix, status.message()));
  if (const auto fault = FaultOf(status)) PrintFault(*fault);
  if (const auto detail = GetErrorDetail(status)) PrintDetail(status, *detail);
}

int ExitCodeOf(const absl::Status& status) {
  if (IsUsageError(status)) return kExitUsage;
  return absl::IsUnavailable(status) ? kExitUnavailable : kExitFailed;
}

absl::Status CheckAddresses(const CommonOptions& options,
                            const std::string& command, Addresses allowed) {
  for (const std::string& address : options.addresses) {
    HOLDFAST_RETURN_IF_ERROR(UsageError(Address::Parse(address).status()));
  }
  const size_t given = options.addresses.size();
  if (given < 2 || allowed == Addresses::kSeveral) return absl::OkStatus();
  return UsageError(absl::InvalidArgumentError(
      absl::StrCat("`", command, "` takes one daemon, --address names ", given,
                   ": ", absl::StrJoin(options.addresses, " and "))));
}

}  // namespace

void AddCommonOptions(CLI::App* app, CommonOptions* options) {
  const auto set = [options](const std::vector<std::string>& lists) {
    options->addresses = SplitAddresses(absl::StrJoin(lists, ","));
    options->address =
        options->addresses.empty() ? "" : options->addresses.front();
  };
  app->add_option_function<std::vector<std::string>>(
         "--address", set,
         "The daemon's address: unix:PATH, tcp:HOST:PORT, "
         "tls:HOST:PORT?ca=FILE, embedded: (default: $HOLDFAST_ADDRESS, else "
         "the system's or the user's socket). Commands that only read take "
         "several addresses: separate them by commas, or repeat --address")
      ->allow_extra_args(false)
      ->type_name("ADDRESS");
  app->add_flag("--json", options->json, "Print one JSON value");
}

CLI::App* AddCommand(CLI::App* app, CommonOptions* options,
                     const std::string& name, const std::string& summary,
                     std::function<absl::Status()> run, absl::Status* status,
                     Addresses addresses) {
  CLI::App* command = app->add_subcommand(name, summary);
  // "sessions end": of a group of commands.
  const std::string full_name = app->get_parent() == nullptr
                                    ? name
                                    : absl::StrCat(app->get_name(), " ", name);
  AddCommonOptions(command, options);
  command->callback([=, run = std::move(run)] {
    if (!command->get_subcommands().empty()) return;
    status->Update(CheckAddresses(*options, full_name, addresses));
    if (status->ok()) status->Update(run());
  });
  return command;
}

CLI::App* AddGroup(CLI::App* app, CommonOptions* options,
                   const std::string& name, const std::string& summary) {
  CLI::App* group = app->add_subcommand(name, summary);
  AddCommonOptions(group, options);
  group->require_subcommand(1);
  return group;
}

int Report(const absl::Status& status, const CommonOptions& options) {
  if (status.ok()) return kExitOk;
  if (status.GetPayload(kReported).has_value()) return ExitCodeOf(status);
  PrintError("", status);
  if (options.json) {
    JsonWriter json;
    json.BeginObject();
    WriteError(status, &json);
    std::puts(json.EndObject().text().c_str());
  }
  return ExitCodeOf(status);
}

absl::Status ReportOfOne(absl::string_view address, const absl::Status& status,
                         JsonWriter* json) {
  if (status.ok()) return status;
  std::fflush(stdout);  // what was shown before comes first
  const bool is_named = absl::StrContains(status.message(), address);
  PrintError(is_named ? "" : absl::StrCat(address, ": "), status);
  if (json != nullptr) WriteError(status, json);
  absl::Status reported = status;
  reported.SetPayload(kReported, absl::Cord());
  return reported;
}

void WriteError(const absl::Status& status, JsonWriter* json) {
  json->BeginObject("error")
      .Member("code", absl::StatusCodeToString(status.code()))
      .Member("message", status.message());
  if (const auto detail = GetErrorDetail(status)) {
    // Empty where Holdfast itself refused or stopped the work.
    if (!detail->call.empty()) json->Member("call", detail->call);
    json->Member("result_name", detail->result_name).Member("log", detail->log);
  }
  if (const auto fault = FaultOf(status)) {
    json->Member("fault", DescribeFault(*fault));
  }
  json->EndObject();
}

void ReportDone(const CommonOptions& options,
                absl::FunctionRef<void(JsonWriter&)> write) {
  if (!options.json) return;
  JsonWriter json;
  json.BeginObject();
  write(json);
  std::puts(json.EndObject().text().c_str());
}

void PrintTitle(absl::string_view titles) {
  const Color color = ShowsColors(stdout) ? Color::kBold : Color::kNone;
  std::puts(Colored(titles, color).c_str());
}

std::string HumanBytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? absl::StrCat(bytes, " bytes")
                   : absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

}  // namespace holdfast::cli
