// SPDX-License-Identifier: Apache-2.0
#include "client/cli/cache_command.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/each_daemon.h"
#include "client/cli/json_writer.h"
#include "client/cpp/connection/daemon.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/admin.pb.h"

namespace holdfast::cli {
namespace {

using Statistics = v1::GetCacheStatisticsResponse;

void WriteStatistics(const Statistics& statistics, JsonWriter* json) {
  const v1::DiskCacheStatistics& disk = statistics.disk();
  json->Member("entries", statistics.entries())
      .Member("bytes", statistics.bytes())
      .Member("max_bytes", statistics.max_bytes())
      .Member("hits", statistics.hits())
      .Member("misses", statistics.misses())
      .Member("evictions", statistics.evictions());
  if (statistics.has_disk()) {
    json->BeginObject("disk")
        .Member("directory", disk.directory())
        .Member("entries", disk.entries())
        .Member("bytes", disk.bytes())
        .Member("max_bytes", disk.max_bytes())
        .Member("hits", disk.hits())
        .Member("evictions", disk.evictions())
        .Member("damaged", disk.damaged())
        .Member("not_kept", disk.not_kept())
        .Member("problem", disk.problem())
        .EndObject();
  }
}

// One line a tier: both have these.
template <typename Tier>
void PrintTier(const char* name, const Tier& tier) {
  std::printf("%-7s %" PRIu64 " entries, %s of %s, %" PRIu64 " hits, %" PRIu64
              " evicted\n",
              name, tier.entries(), HumanBytes(tier.bytes()).c_str(),
              HumanBytes(tier.max_bytes()).c_str(), tier.hits(),
              tier.evictions());
}

void PrintText(const Statistics& statistics) {
  PrintTier("memory", statistics);
  const v1::DiskCacheStatistics& disk = statistics.disk();
  if (statistics.has_disk()) {
    PrintTier("disk", disk);
    std::printf("        in %s\n", ToPrintable(disk.directory()).c_str());
  } else {
    std::puts("disk    not used");
  }
  if (disk.damaged() > 0) {
    std::printf("        %" PRIu64 " damaged entries removed\n",
                disk.damaged());
  }
  if (disk.not_kept() > 0) {
    std::printf(
        "        %" PRIu64 " entries not kept; %s\n", disk.not_kept(),
        disk.problem().empty() ? "the last one was" : disk.problem().c_str());
  }
  std::printf("misses  %" PRIu64 "\n", statistics.misses());
}

absl::Status ShowStatistics(const std::shared_ptr<Daemon>& daemon,
                            JsonWriter* json) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto statistics, daemon->CacheStatistics());
  if (json != nullptr) {
    WriteStatistics(statistics, json);
  } else {
    PrintText(statistics);
  }
  return absl::OkStatus();
}

absl::Status Clear(const CommonOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  HOLDFAST_ASSIGN_OR_RETURN(const auto cleared, daemon->ClearCache());
  if (options.json) {
    JsonWriter json;
    json.BeginObject()
        .Member("entries", cleared.entries())
        .Member("disk_entries", cleared.disk_entries())
        .EndObject();
    std::puts(json.text().c_str());
    return absl::OkStatus();
  }
  std::printf("%" PRIu64 " entries dropped from memory, %" PRIu64
              " from disk\n",
              cleared.entries(), cleared.disk_entries());
  return absl::OkStatus();
}

absl::Time UsedAt(const v1::CacheEntry& entry) {
  return absl::FromUnixSeconds(entry.used().seconds()) +
         absl::Nanoseconds(entry.used().nanos());
}

std::string FormatOf(const v1::CacheEntry& entry) {
  const std::string name = v1::ObjectFormat_Name(entry.object().format());
  return absl::AsciiStrToLower(absl::StripPrefix(name, "OBJECT_FORMAT_"));
}

void WriteEntry(const v1::CacheEntry& entry, JsonWriter* json) {
  json->BeginObject()
      .Member("key", absl::BytesToHexString(entry.key()))
      .Member("name", entry.name())
      .Member("owner", entry.owner())
      .Member("sha256", absl::BytesToHexString(entry.object().sha256()))
      .Member("bytes", entry.object().size())
      .Member("format", FormatOf(entry))
      .Member("arch", entry.arch())
      .Member("compiler", entry.compiler())
      .Member("memory", entry.in_memory())
      .Member("disk", entry.on_disk())
      .Member("used", absl::FormatTime(UsedAt(entry), absl::UTCTimeZone()))
      .EndObject();
}

void PrintEntry(const v1::CacheEntry& entry) {
  const absl::Duration age =
      absl::Trunc(absl::Now() - UsedAt(entry), absl::Seconds(1));
  std::printf(
      "%-12s %-24s %-6s %-11s %10s  %-6s %-4s %8s   %s\n",
      absl::BytesToHexString(entry.object().sha256()).substr(0, 12).c_str(),
      ToPrintable(entry.name()).c_str(), FormatOf(entry).c_str(),
      entry.arch().c_str(), HumanBytes(entry.object().size()).c_str(),
      entry.in_memory() ? "memory" : "", entry.on_disk() ? "disk" : "",
      absl::FormatDuration(age).c_str(), ToPrintable(entry.owner()).c_str());
}

absl::Status List(Daemon& daemon, uint32_t max_entries, JsonWriter* json) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto list, daemon.CacheEntries(max_entries));
  if (json != nullptr) {
    json->BeginArray("entries");
    for (const auto& entry : list.entries()) WriteEntry(entry, json);
    json->EndArray();
    return absl::OkStatus();
  }
  PrintTitle(absl::StrFormat("%-12s %-24s %-6s %-11s %10s  %-11s %8s   %s",
                             "OBJECT", "NAME", "FORMAT", "ARCH", "SIZE",
                             "TIERS", "UNUSED", "TENANT"));
  for (const auto& entry : list.entries()) PrintEntry(entry);
  return absl::OkStatus();
}

}  // namespace

void AddCacheCommand(CLI::App* app, CommonOptions* options,
                     absl::Status* status) {
  CLI::App* cache =
      AddGroup(app, options, "cache",
               "Show or clear the daemon's cache of compiled programs");
  AddLook(cache, options, "stats",
          "Show the size of the cache, and its hits and misses", ShowStatistics,
          status);
  const auto max_entries = std::make_shared<uint32_t>(0);
  AddLook(
      cache, options, "list",
      "List the entries that were made for your tenant, the last used first; "
      "an operator sees all entries",
      [max_entries](const std::shared_ptr<Daemon>& daemon, JsonWriter* json) {
        return List(*daemon, *max_entries, json);
      },
      status)
      ->add_option("-n,--max-entries", *max_entries,
                   "The number of entries; 0: as many as the daemon lists")
      ->capture_default_str();
  AddCommand(
      cache, options, "clear", "Drop all entries, in memory and on disk",
      [options] { return Clear(*options); }, status);
}

}  // namespace holdfast::cli
