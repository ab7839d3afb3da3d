// SPDX-License-Identifier: Apache-2.0
#include "client/cli/sessions_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/color.h"
#include "client/cli/each_daemon.h"
#include "client/cli/json_writer.h"
#include "client/cli/quota_flags.h"
#include "client/cli/resource_usage.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/connection/daemon.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

std::string StateName(const v1::SessionInfo& session) {
  const std::string name = v1::SessionInfo::State_Name(session.state());
  return absl::AsciiStrToLower(absl::StripPrefix(name, "STATE_"));
}

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) +
         absl::Nanoseconds(time.nanos());
}

absl::Time OpenedAt(const v1::SessionInfo& session) {
  return ToTime(session.opened());
}

// "detached 59m": how long it lives on without a client.
std::string StateText(const v1::SessionInfo& session) {
  std::string text = StateName(session);
  if (!session.has_ends()) return text;
  const absl::Duration left =
      absl::Trunc(ToTime(session.ends()) - absl::Now(), absl::Seconds(1));
  absl::StrAppend(&text, " ",
                  absl::FormatDuration(std::max(left, absl::ZeroDuration())));
  return text;
}

// "1 as 0": on device 1, which its client names 0.
std::string DevicesText(const v1::SessionInfo& session) {
  std::string text = absl::StrJoin(session.devices(), ",");
  if (session.has_moved_from()) {
    absl::StrAppend(&text, " as ", session.moved_from());
  }
  return text;
}

void WriteDevices(const google::protobuf::RepeatedField<uint32_t>& devices,
                  JsonWriter* json) {
  json->BeginArray("devices");
  for (const uint32_t device : devices) json->Value(device);
  json->EndArray();
}

void WriteSession(const v1::SessionInfo& session, JsonWriter* json) {
  json->BeginObject()
      .Member("session_id", session.session_id())
      .Member("name", session.name())
      .Member("state", StateName(session))
      .BeginObject("client")
      .Member("program", session.client().program())
      .Member("host", session.client().host())
      .Member("pid", session.client().pid())
      .EndObject()
      .Member("peer", session.peer())
      .Member("tenant", session.tenant())
      .Member("executor_pid", session.executor_pid())
      .Member("epoch", session.epoch())
      .Member("faults", session.faults())
      .Member("last_fault", session.last_fault().cause().message())
      .Member("opened",
              absl::FormatTime(OpenedAt(session), absl::UTCTimeZone()))
      .Member("ends", session.has_ends()
                          ? absl::FormatTime(ToTime(session.ends()),
                                             absl::UTCTimeZone())
                          : "")
      .Member("memory_bytes", session.memory_bytes())
      .Member("arena_bytes", session.arena_bytes());
  WriteDevices(session.devices(), json);
  if (session.has_moved_from()) {
    json->Member("moved_from", session.moved_from());
  }
  json->BeginObject("usage");
  WriteUsage(session.usage(), json);
  json->EndObject().BeginObject("copies");
  for (const v1::CopyStatistics& copies : session.copies()) {
    const std::string path = absl::AsciiStrToLower(
        absl::StripPrefix(v1::CopyPath_Name(copies.path()), "COPY_PATH_"));
    json->BeginObject(path)
        .Member("copies", copies.copies())
        .Member("bytes", copies.bytes())
        .EndObject();
  }
  json->EndObject().EndObject();
}

void PrintSession(const v1::SessionInfo& session) {
  const std::string client = ToPrintable(
      absl::StrCat(session.client().program(), " ", session.client().pid()));
  const absl::Duration age =
      absl::Trunc(absl::Now() - OpenedAt(session), absl::Seconds(1));
  const bool colors = ShowsColors(stdout);
  const std::string state = absl::StrFormat("%-16s", StateText(session));
  const std::string faults = absl::StrFormat("%6u", session.faults());
  const Color of_state =
      colors ? ColorOfState(StateName(session)) : Color::kNone;
  const Color of_faults =
      colors && session.faults() > 0 ? Color::kRed : Color::kNone;
  std::printf("%-8s %s %-7s %-20s %-24s %10s %s %8s   %-16s %s\n",
              ToPrintable(session.session_id()).c_str(),
              Colored(state, of_state).c_str(), DevicesText(session).c_str(),
              ToPrintable(session.name()).c_str(), client.c_str(),
              HumanBytes(session.memory_bytes()).c_str(),
              Colored(faults, of_faults).c_str(),
              absl::FormatDuration(age).c_str(),
              ToPrintable(session.tenant()).c_str(),
              ToPrintable(session.peer()).c_str());
}

absl::Status ListSessions(Daemon& daemon, bool usage, JsonWriter* json) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto list, daemon.ListSessions());
  if (json != nullptr) {
    json->BeginArray("sessions");
    for (const auto& session : list.sessions()) WriteSession(session, json);
    json->EndArray().BeginObject("totals");
    WriteTotals(list.totals(), json);
    json->EndObject();
    return absl::OkStatus();
  }
  if (usage) {
    PrintUsage(list);
    return absl::OkStatus();
  }
  PrintTitle(
      absl::StrFormat("%-8s %-16s %-7s %-20s %-24s %10s %6s %8s   %-16s %s",
                      "SESSION", "STATE", "DEVICES", "NAME", "CLIENT", "MEMORY",
                      "FAULTS", "AGE", "TENANT", "PEER"));
  for (const auto& session : list.sessions()) PrintSession(session);
  return absl::OkStatus();
}

struct EndOptions {
  std::string session_id;
  std::string reason;
};

absl::Status End(const CommonOptions& options, const EndOptions& end) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  HOLDFAST_RETURN_IF_ERROR(EndSession(*daemon, end.session_id, end.reason));
  ReportDone(options, [&](JsonWriter& json) {
    json.Member("session_id", end.session_id);
  });
  return absl::OkStatus();
}

void AddEndCommand(CLI::App* sessions, CommonOptions* options,
                   absl::Status* status) {
  const auto end = std::make_shared<EndOptions>();
  CLI::App* command = AddCommand(
      sessions, options, "end", "End a session of any client",
      [options, end] { return End(*options, *end); }, status);
  command
      ->add_option("SESSION", end->session_id, "The session's name, e.g. s-7")
      ->required();
  command->add_option(
      "--reason", end->reason,
      "The reason, which the session's client is shown; at most 256 bytes");
}

struct SuspendCommand {
  std::string session_id;
  std::string to = "host";
  double timeout = 0;  // seconds; 0: the daemon's default
};

absl::Status Suspend(const CommonOptions& options,
                     const SuspendCommand& suspend) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  HOLDFAST_ASSIGN_OR_RETURN(
      const uint64_t bytes,
      SuspendSession(*daemon, suspend.session_id,
                     {.file = suspend.to == "host" ? "" : suspend.to,
                      .timeout = absl::Seconds(suspend.timeout)}));
  if (options.json) {
    JsonWriter json;
    json.BeginObject()
        .Member("session_id", suspend.session_id)
        .Member("bytes", bytes);
    std::puts(json.EndObject().text().c_str());
    return absl::OkStatus();
  }
  std::printf(
      "%s suspended, %s of device memory in %s\n",
      ToPrintable(suspend.session_id).c_str(), HumanBytes(bytes).c_str(),
      suspend.to == "host" ? "host memory" : ToPrintable(suspend.to).c_str());
  return absl::OkStatus();
}

struct ResumeCommand {
  std::string session_id;
  ResumeOptions options;
};

absl::Status Resume(const CommonOptions& options, const ResumeCommand& resume) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::vector<uint32_t> devices,
      ResumeSession(*daemon, resume.session_id, resume.options));
  if (options.json) {
    JsonWriter json;
    json.BeginObject().Member("session_id", resume.session_id);
    WriteDevices({devices.begin(), devices.end()}, &json);
    std::puts(json.EndObject().text().c_str());
    return absl::OkStatus();
  }
  std::printf(
      "%s resumed on device%s %s\n", ToPrintable(resume.session_id).c_str(),
      devices.size() == 1 ? "" : "s", absl::StrJoin(devices, ", ").c_str());
  return absl::OkStatus();
}

void AddResumeCommand(CLI::App* sessions, CommonOptions* options,
                      absl::Status* status) {
  const auto resume = std::make_shared<ResumeCommand>();
  CLI::App* command = AddCommand(
      sessions, options, "resume", "Bring a suspended session back",
      [options, resume] { return Resume(*options, *resume); }, status);
  command
      ->add_option("SESSION", resume->session_id,
                   "The session's name, e.g. s-7")
      ->required();
  command
      ->add_option("--device", resume->options.device,
                   "The device for the session, of the same kind as its own "
                   "device; only for a session with one device. The client "
                   "continues to use its own number for the device. Default: "
                   "the device where the session was, or another device of the "
                   "same kind if that one is quarantined or has no memory left")
      ->type_name("ORDINAL");
}

void AddSuspendCommand(CLI::App* sessions, CommonOptions* options,
                       absl::Status* status) {
  const auto suspend = std::make_shared<SuspendCommand>();
  CLI::App* command = AddCommand(
      sessions, options, "suspend",
      "Move a session's memory off its devices, until its next command",
      [options, suspend] { return Suspend(*options, *suspend); }, status);
  command
      ->add_option("SESSION", suspend->session_id,
                   "The session's name, e.g. s-7")
      ->required();
  command
      ->add_option(
          "--to", suspend->to,
          "The place for the session's device memory: host, or the name of a "
          "new file in the daemon's --suspend-directory. The daemon unlinks "
          "the file at once, so that it ends when the session resumes or ends")
      ->type_name("host|FILE")
      ->capture_default_str();
  command
      ->add_option(
          "--timeout", suspend->timeout,
          "The longest wait for the session's work, in seconds; default: 30")
      ->check(CLI::PositiveNumber);
}

void AddQuotaCommand(CLI::App* sessions, CommonOptions* options,
                     absl::Status* status) {
  const auto session_id = std::make_shared<std::string>();
  const auto flags = std::make_shared<QuotaFlags>();
  CLI::App* command = AddCommand(
      sessions, options, "quota",
      "Restrict a session's resources, in addition to the limits that it was "
      "opened with; a flag that is not given sets no limit",
      [options, session_id, flags]() -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(const v1::Quota quota, QuotaOf(*flags));
        HOLDFAST_ASSIGN_OR_RETURN(auto daemon,
                                  Daemon::Connect(options->address));
        HOLDFAST_RETURN_IF_ERROR(SetSessionQuota(*daemon, *session_id, quota));
        ReportDone(*options, [&](JsonWriter& json) {
          json.Member("session_id", *session_id);
        });
        return absl::OkStatus();
      },
      status);
  command->add_option("SESSION", *session_id, "The session's name, e.g. s-7")
      ->required();
  AddSessionQuota(command, flags.get());
}

}  // namespace

void AddSessionsCommand(CLI::App* app, CommonOptions* options,
                        absl::Status* status) {
  const auto usage = std::make_shared<bool>(false);
  CLI::App* command = AddLook(
      app, options, "sessions", "List the open sessions, oldest first",
      [usage](const std::shared_ptr<Daemon>& daemon, JsonWriter* json) {
        return ListSessions(*daemon, *usage, json);
      },
      status);
  AddEndCommand(command, options, status);
  AddSuspendCommand(command, options, status);
  AddResumeCommand(command, options, status);
  AddQuotaCommand(command, options, status);
  command->add_flag("--usage", *usage,
                    "Show the resources of each session by kind, with its own "
                    "limits, and the sums; `holdfast tenants ls` has the "
                    "limits of the tenant; --json always has them");
}

}  // namespace holdfast::cli
