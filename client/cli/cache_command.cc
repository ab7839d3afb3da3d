// SPDX-License-Identifier: Apache-2.0
#include "client/cli/cache_command.h"

#include <cinttypes>
#include <cstdio>

#include "client/cli/json_writer.h"
#include "client/cpp/daemon.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

void PrintJson(const v1::GetCacheStatisticsResponse& statistics) {
  JsonWriter json;
  json.BeginObject()
      .Member("entries", statistics.entries())
      .Member("bytes", statistics.bytes())
      .Member("max_bytes", statistics.max_bytes())
      .Member("hits", statistics.hits())
      .Member("misses", statistics.misses())
      .Member("evictions", statistics.evictions());
  std::puts(json.EndObject().text().c_str());
}

absl::Status ShowStatistics(const CommonOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  HOLDFAST_ASSIGN_OR_RETURN(const auto statistics, daemon->CacheStatistics());
  if (options.json) {
    PrintJson(statistics);
    return absl::OkStatus();
  }
  std::printf("entries    %" PRIu64 "\n", statistics.entries());
  std::printf("memory     %s of %s\n", HumanBytes(statistics.bytes()).c_str(),
              HumanBytes(statistics.max_bytes()).c_str());
  std::printf("hits       %" PRIu64 "\n", statistics.hits());
  std::printf("misses     %" PRIu64 "\n", statistics.misses());
  std::printf("evictions  %" PRIu64 "\n", statistics.evictions());
  return absl::OkStatus();
}

absl::Status Clear(const CommonOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t entries, daemon->ClearCache());
  if (options.json) {
    JsonWriter json;
    json.BeginObject().Member("entries", entries).EndObject();
    std::puts(json.text().c_str());
    return absl::OkStatus();
  }
  std::printf("%" PRIu64 " entries dropped\n", entries);
  return absl::OkStatus();
}

}  // namespace

void AddCacheCommand(CLI::App* app, CommonOptions* options,
                     absl::Status* status) {
  CLI::App* cache = app->add_subcommand(
      "cache", "The daemon's cache of compiled programs, for its own user");
  cache->require_subcommand(1);
  AddCommand(
      cache, options, "stats", "What it holds, and how often it helped",
      [options] { return ShowStatistics(*options); }, status);
  AddCommand(
      cache, options, "clear", "Drop all entries",
      [options] { return Clear(*options); }, status);
}

}  // namespace holdfast::cli
