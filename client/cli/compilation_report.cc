// SPDX-License-Identifier: Apache-2.0
#include "client/cli/compilation_report.h"

#include <cstdio>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/command.h"
#include "client/cli/file.h"
#include "client/cli/json_writer.h"
#include "client/cli/object_file.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

// Empty: made for this request.
const char* TierName(v1::CacheTier tier) {
  if (tier == v1::CACHE_TIER_MEMORY) return "memory";
  return tier == v1::CACHE_TIER_DISK ? "disk" : "";
}

std::string ToJson(const Compilation& compilation, const std::string& output) {
  const ObjectCode& object = compilation.object;
  JsonWriter json;
  json.BeginObject()
      .Member("output", output)
      .Member("bytes", object.size)
      .Member("sha256", absl::BytesToHexString(object.sha256))
      .Member("format", FormatName(object.format))
      .Member("arch", compilation.arch)
      .Member("compiler", compilation.compiler)
      .Member("cache_hit", compilation.cache_hit)
      .Member("cache_tier", TierName(compilation.cache_tier))
      .Member("compile_ms", absl::ToDoubleMilliseconds(compilation.time))
      .Member("log", compilation.log)
      .BeginArray("warnings");
  for (const std::string& warning : compilation.warnings) json.Value(warning);
  json.EndArray().BeginObject("symbols");
  for (const auto& [name, symbol] : object.symbols) json.Member(name, symbol);
  return json.EndObject().EndObject().text();
}

void PrintText(std::FILE* file, const Compilation& compilation,
               const std::string& output) {
  const ObjectCode& object = compilation.object;
  const std::string hash = absl::BytesToHexString(object.sha256);
  absl::FPrintF(file, "%s: %s for %s by %s, %s\n",
                output.empty() ? "sha256:" + hash : output,
                HumanBytes(object.size), compilation.arch, compilation.compiler,
                TimeOf(compilation));
  for (const auto& [name, symbol] : object.symbols) {
    absl::FPrintF(file, "  %s -> %s\n", name, symbol);
  }
}

}  // namespace

void PrintNotes(const Compilation& compilation) {
  if (!compilation.log.empty()) {
    std::fprintf(stderr, "%s\n", compilation.log.c_str());
  }
  for (const std::string& warning : compilation.warnings) {
    std::fprintf(stderr, "holdfast: warning: %s\n", warning.c_str());
  }
}

std::string TimeOf(const Compilation& compilation) {
  if (compilation.cache_hit) {
    return absl::StrCat("from the cache",
                        compilation.cache_tier == v1::CACHE_TIER_DISK
                            ? " on disk"
                            : " in memory");
  }
  return absl::StrFormat("%.1f ms",
                         absl::ToDoubleMilliseconds(compilation.time));
}

absl::Status WriteCompilation(Daemon& daemon, const Compilation& compilation,
                              const std::string& output, bool as_json) {
  if (!output.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(const std::string bytes,
                              compilation.object.Fetch(daemon));
    HOLDFAST_RETURN_IF_ERROR(WriteFile(output, bytes));
  }
  PrintNotes(compilation);
  std::FILE* file = output == "-" ? stderr : stdout;
  if (as_json) {
    absl::FPrintF(file, "%s\n", ToJson(compilation, output));
  } else {
    PrintText(file, compilation, output);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::cli
