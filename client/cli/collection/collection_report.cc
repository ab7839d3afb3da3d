// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/collection_report.h"

#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/cli/command.h"
#include "client/cli/json_writer.h"
#include "core/base/printable.h"

namespace holdfast::cli {
namespace {

std::string Shape(const v1::ArrayDescription& array) {
  const std::string shape =
      absl::StrCat(array.dtype(), "[", absl::StrJoin(array.shape(), ","), "]");
  if (array.strides().empty()) return shape;
  return absl::StrCat(shape, " strides [", absl::StrJoin(array.strides(), ","),
                      "]");
}

std::string Committed(const v1::VersionInfo& version) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                          absl::FromUnixSeconds(version.committed().seconds()),
                          absl::UTCTimeZone());
}

std::string KindName(v1::CollectionChange::Kind kind) {
  return absl::AsciiStrToLower(
      absl::StripPrefix(v1::CollectionChange::Kind_Name(kind), "KIND_"));
}

std::string StateName(v1::VersionInfo::State state) {
  return absl::AsciiStrToLower(
      absl::StripPrefix(v1::VersionInfo::State_Name(state), "STATE_"));
}

// " (suspended) (pinned)"; nothing about a version as most are.
std::string Remarks(const v1::VersionInfo& version) {
  std::string remarks;
  if (version.state() > v1::VersionInfo::STATE_RESIDENT) {
    absl::StrAppend(&remarks, " (", StateName(version.state()), ")");
  }
  if (version.retired()) absl::StrAppend(&remarks, " (retired)");
  if (version.pinned()) absl::StrAppend(&remarks, " (pinned)");
  return remarks;
}

// Where the bytes are.
std::string Place(const v1::VersionInfo& version) {
  const std::string device = absl::StrCat("device ", version.device());
  if (version.state() <= v1::VersionInfo::STATE_RESIDENT) {
    return absl::StrCat("on ", device);
  }
  return absl::StrCat("of ", device, ", ", StateName(version.state()), ", ",
                      HumanBytes(version.suspended_bytes()), " off it");
}

std::string VisibleTo(const v1::Visibility& visibility) {
  if (visibility.everybody()) return "everybody";
  if (visibility.clients().empty()) return "its owner";
  return absl::StrJoin(visibility.clients(), ", ");
}

void WriteVersion(const v1::VersionInfo& version, JsonWriter* json) {
  json->BeginObject()
      .Member("version", version.version())
      .Member("committed", Committed(version))
      .Member("session_id", version.session_id())
      .Member("device", version.device())
      .Member("arrays", version.arrays())
      .Member("size", version.size())
      .Member("retired", version.retired())
      .Member("pinned", version.pinned())
      .Member("state", StateName(version.state()))
      .Member("suspended_bytes", version.suspended_bytes())
      .Member("readers", absl::StrJoin(version.readers(), ","))
      .EndObject();
}

void WriteInfo(const v1::CollectionInfo& info, JsonWriter* json) {
  json->Member("name", info.name())
      .Member("owner", info.owner())
      .Member("visible_to", VisibleTo(info.visibility()))
      .Member("keep", info.keep())
      .Member("until_unreferenced", info.until_unreferenced())
      .BeginArray("versions");
  for (const v1::VersionInfo& version : info.versions()) {
    WriteVersion(version, json);
  }
  json->EndArray();
}

void PrintVersion(const v1::CollectionInfo& info,
                  const v1::VersionInfo& version) {
  std::printf("%-32s %8s %10s %8s   %-21s %-16s %s%s\n",
              ToPrintable(info.name()).c_str(),
              absl::StrCat(version.version()).c_str(),
              HumanBytes(version.size()).c_str(),
              absl::StrCat(version.arrays()).c_str(),
              Committed(version).c_str(), ToPrintable(info.owner()).c_str(),
              ToPrintable(absl::StrJoin(version.readers(), ",")).c_str(),
              Remarks(version).c_str());
}

}  // namespace

void PrintCollections(const v1::ListCollectionsResponse& list,
                      JsonWriter* json) {
  if (json != nullptr) {
    json->BeginArray("collections");
    for (const v1::CollectionInfo& info : list.collections()) {
      json->BeginObject();
      WriteInfo(info, json);
      json->EndObject();
    }
    json->EndArray();
    return;
  }
  PrintTitle(absl::StrFormat("%-32s %8s %10s %8s   %-21s %-16s %s", "NAME",
                             "VERSION", "SIZE", "ARRAYS", "COMMITTED", "OWNER",
                             "READERS"));
  for (const v1::CollectionInfo& info : list.collections()) {
    for (const v1::VersionInfo& version : info.versions()) {
      PrintVersion(info, version);
    }
  }
}

void PrintCollection(const v1::DescribeCollectionResponse& description,
                     JsonWriter* json) {
  const v1::CollectionInfo& info = description.collection();
  if (json != nullptr) {
    WriteInfo(info, json);
    json->BeginObject("metadata");
    for (const auto& [key, value] : description.metadata()) {
      json->Member(key, value);
    }
    json->EndObject().BeginArray("arrays");
    for (const v1::ArrayDescription& array : description.arrays()) {
      json->BeginObject()
          .Member("name", array.name())
          .Member("type", Shape(array))
          .Member("size", array.size())
          .EndObject();
    }
    json->EndArray();
    return;
  }
  for (const v1::VersionInfo& version : info.versions()) {
    std::printf("%s, version %s, committed %s by session %s of %s\n",
                ToPrintable(info.name()).c_str(),
                absl::StrCat(version.version()).c_str(),
                Committed(version).c_str(),
                ToPrintable(version.session_id()).c_str(),
                ToPrintable(info.owner()).c_str());
    std::printf(
        "%s %s; read by %s; visible to %s%s\n",
        HumanBytes(version.size()).c_str(), Place(version).c_str(),
        version.readers().empty()
            ? "nobody"
            : ToPrintable(absl::StrJoin(version.readers(), ", ")).c_str(),
        ToPrintable(VisibleTo(info.visibility())).c_str(),
        version.pinned() ? "; pinned" : "");
  }
  for (const auto& [key, value] : description.metadata()) {
    std::printf("  %s = %s\n", ToPrintable(key).c_str(),
                ToPrintable(value).c_str());
  }
  for (const v1::ArrayDescription& array : description.arrays()) {
    std::printf("%10s  %-24s %s\n", HumanBytes(array.size()).c_str(),
                ToPrintable(Shape(array)).c_str(),
                ToPrintable(array.name()).c_str());
  }
}

void PrintChange(const v1::CollectionChange& change, bool as_json) {
  if (as_json) {
    JsonWriter json;
    json.BeginObject()
        .Member("change", KindName(change.kind()))
        .Member("name", change.name())
        .Member("version", change.version())
        .Member("owner", change.owner())
        .EndObject();
    std::puts(json.text().c_str());
  } else {
    std::printf("%-10s %s version %s of %s\n", KindName(change.kind()).c_str(),
                ToPrintable(change.name()).c_str(),
                absl::StrCat(change.version()).c_str(),
                ToPrintable(change.owner()).c_str());
  }
  std::fflush(stdout);
}

void PrintMove(const std::string& act, const std::string& name,
               uint64_t version, uint64_t bytes, bool as_json) {
  if (as_json) {
    JsonWriter json;
    json.BeginObject()
        .Member("name", name)
        .Member("version", version)
        .Member("bytes", bytes)
        .EndObject();
    std::puts(json.text().c_str());
    return;
  }
  std::printf("%s version %s %s, %s of device memory\n",
              ToPrintable(name).c_str(), absl::StrCat(version).c_str(),
              act.c_str(), HumanBytes(bytes).c_str());
}

void PrintDifferences(size_t arrays,
                      const std::map<std::string, std::string>& differences,
                      bool as_json) {
  if (as_json) {
    JsonWriter json;
    json.BeginObject()
        .Member("arrays", uint64_t{arrays})
        .BeginObject("differences");
    for (const auto& [name, difference] : differences) {
      json.Member(name, difference);
    }
    std::puts(json.EndObject().EndObject().text().c_str());
    return;
  }
  for (const auto& [name, difference] : differences) {
    std::printf("%s: %s\n", ToPrintable(name).c_str(), difference.c_str());
  }
  if (differences.empty()) {
    std::printf("%s arrays are as in the files\n",
                absl::StrCat(arrays).c_str());
  }
}

void PrintDigests(const std::map<std::string, std::string>& digests,
                  bool as_json) {
  JsonWriter json;
  json.BeginObject();
  for (const auto& [name, digest] : digests) {
    if (as_json) {
      json.Member(name, digest);
    } else {
      std::printf("%s  %s\n", digest.c_str(), ToPrintable(name).c_str());
    }
  }
  if (as_json) std::puts(json.EndObject().text().c_str());
}

}  // namespace holdfast::cli
