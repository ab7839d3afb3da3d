// SPDX-License-Identifier: Apache-2.0
#include "client/cli/command.h"

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cpp/fault.h"
#include "core/base/error_detail.h"
#include "core/base/printable.h"

namespace holdfast::cli {
namespace {

// "INVALID_ARGUMENT" as people read it.
std::string Kind(const absl::Status& status) {
  std::string kind = absl::StatusCodeToString(status.code());
  for (char& c : kind) c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  return kind;
}

// Each line by itself, since line feeds are escaped.
void PrintFault(const v1::FaultReport& fault) {
  const std::string text = DescribeFault(fault);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::fprintf(stderr, "%s\n", ToPrintable(line).c_str());
  }
}

}  // namespace

void AddCommonOptions(CLI::App* app, CommonOptions* options) {
  app->add_option("--address", options->address,
                  "Where the daemon is: unix:PATH, tcp:HOST:PORT, "
                  "tls:HOST:PORT?ca=FILE, embedded: (default: "
                  "$HOLDFAST_ADDRESS, else the system's or the user's socket)")
      ->type_name("ADDRESS");
  app->add_flag("--json", options->json, "Print one JSON value");
}

CLI::App* AddCommand(CLI::App* app, CommonOptions* options,
                     const std::string& name, const std::string& summary,
                     std::function<absl::Status()> run, absl::Status* status) {
  CLI::App* command = app->add_subcommand(name, summary);
  AddCommonOptions(command, options);
  command->callback([run = std::move(run), status] { status->Update(run()); });
  return command;
}

int Report(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  std::fprintf(stderr, "holdfast: %s: %s\n", Kind(status).c_str(),
               std::string(status.message()).c_str());
  if (const auto fault = FaultOf(status)) PrintFault(*fault);
  if (const auto detail = GetErrorDetail(status)) {
    if (!detail->result_name.empty() &&
        !absl::StrContains(status.message(), detail->result_name)) {
      std::fprintf(stderr, "%s: %s: %s\n", detail->call.c_str(),
                   detail->result_name.c_str(), detail->explanation.c_str());
    }
    if (!absl::StrContains(status.message(), detail->log)) {
      std::fprintf(stderr, "%s\n", detail->log.c_str());
    }
  }
  return absl::IsUnavailable(status) ? kExitUnavailable : kExitFailed;
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
