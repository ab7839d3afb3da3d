// SPDX-License-Identifier: Apache-2.0
#include "client/files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/files/read_range.h"
#include "client/files/safetensors_json.h"
#include "core/base/array_layout.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "core/base/utf8.h"

namespace holdfast {
namespace {

constexpr uint64_t kLengthBytes = 8;

std::string Quoted(const std::string& name) {
  return absl::StrCat("array \"", ToPrintable(name), "\"");
}

// Collections hold a type more than the format has.
absl::Status CheckType(const std::string& name, const std::string& dtype) {
  if (dtype != "C128") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(name), ": the safetensors format has no type C128"));
}

absl::StatusOr<StoredArray> CheckEntry(HeaderEntry entry, uint64_t data_size) {
  if (entry.data_offsets.size() != 2 ||
      entry.data_offsets[1] < entry.data_offsets[0]) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(entry.name), ": data_offsets are not a beginning and an end"));
  }
  const uint64_t begin = entry.data_offsets[0];
  const uint64_t end = entry.data_offsets[1];
  if (end > data_size) {
    return absl::OutOfRangeError(
        absl::StrCat(Quoted(entry.name), " ends at byte ", end,
                     " of the data, which has ", data_size));
  }
  const auto bytes = ArrayBytes(entry.dtype, entry.shape);
  if (!bytes.ok()) {
    return absl::Status(
        bytes.status().code(),
        absl::StrCat(Quoted(entry.name), ": ", bytes.status().message()));
  }
  if (*bytes != end - begin) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(entry.name), ": ", entry.dtype, "[",
                     absl::StrJoin(entry.shape, ","), "] has ", *bytes,
                     " bytes, its place in the file ", end - begin));
  }
  return StoredArray{std::move(entry.name), std::move(entry.dtype),
                     std::move(entry.shape), begin, end - begin};
}

// Sorted by offset, each has to begin where the one before it ends.
absl::Status CheckPlaces(const SafetensorsHeader& header) {
  uint64_t end = 0;
  for (const StoredArray& array : header.arrays) {
    if (array.offset != end) {
      return absl::OutOfRangeError(
          absl::StrCat(Quoted(array.name), " begins at byte ", array.offset,
                       " of the data, the arrays before it end at ", end));
    }
    end += array.size;
  }
  if (end == header.data_size) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("the arrays end at byte ", end,
                                            " of the data, which has ",
                                            header.data_size));
}

absl::Status CheckText(const std::vector<StoredArray>& arrays,
                       const std::map<std::string, std::string>& metadata) {
  for (const StoredArray& array : arrays) {
    if (!IsValidUtf8(array.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the name of ", Quoted(array.name), " is not UTF-8"));
    }
  }
  for (const auto& [key, value] : metadata) {
    if (!IsValidUtf8(key) || !IsValidUtf8(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata \"", ToPrintable(key), "\" is not UTF-8"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json,
                                                         uint64_t data_size) {
  HOLDFAST_ASSIGN_OR_RETURN(HeaderJson parsed, ParseHeaderJson(json));
  SafetensorsHeader header;
  header.metadata = std::move(parsed.metadata);
  header.data_size = data_size;
  header.arrays.reserve(parsed.entries.size());
  for (HeaderEntry& entry : parsed.entries) {
    HOLDFAST_ASSIGN_OR_RETURN(StoredArray array,
                              CheckEntry(std::move(entry), data_size));
    header.arrays.push_back(std::move(array));
  }
  std::stable_sort(header.arrays.begin(), header.arrays.end(),
                   [](const StoredArray& a, const StoredArray& b) {
                     return std::pair(a.offset, a.size) <
                            std::pair(b.offset, b.size);
                   });
  HOLDFAST_RETURN_IF_ERROR(CheckPlaces(header));
  return header;
}

absl::StatusOr<std::string> MakeSafetensorsHeader(
    std::vector<StoredArray>& arrays,
    const std::map<std::string, std::string>& metadata) {
  HOLDFAST_RETURN_IF_ERROR(CheckText(arrays, metadata));
  nlohmann::json json = nlohmann::json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (StoredArray& array : arrays) {
    HOLDFAST_RETURN_IF_ERROR(CheckType(array.name, array.dtype));
    HOLDFAST_ASSIGN_OR_RETURN(array.size, ArrayBytes(array.dtype, array.shape));
    array.offset = offset;
    offset += array.size;
    if (array.name == "__metadata__" || json.contains(array.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(array.name), ": the name is taken"));
    }
    json[array.name] = {{"dtype", array.dtype},
                        {"shape", array.shape},
                        {"data_offsets", {array.offset, offset}}};
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string file(kLengthBytes, '\0');
  std::memcpy(file.data(), &length, kLengthBytes);
  return file + text;
}

absl::StatusOr<SafetensorsFile> ReadSafetensors(int fd) {
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t file_size, FileSize(fd));
  if (file_size < kLengthBytes) {
    return absl::InvalidArgumentError("not a safetensors file: too short");
  }
  uint64_t length = 0;
  HOLDFAST_RETURN_IF_ERROR(
      ReadRange(fd, reinterpret_cast<char*>(&length), kLengthBytes, 0));
  if (length > kMaxSafetensorsHeader || length > file_size - kLengthBytes) {
    return absl::OutOfRangeError(absl::StrCat(
        "not a safetensors file: a header of ", length, " bytes in a file of ",
        file_size, "; limit: ", kMaxSafetensorsHeader));
  }
  std::string json(length, '\0');
  HOLDFAST_RETURN_IF_ERROR(ReadRange(fd, json.data(), length, kLengthBytes));
  SafetensorsFile file;
  file.data_offset = kLengthBytes + length;
  HOLDFAST_ASSIGN_OR_RETURN(
      file.header, ParseSafetensorsHeader(json, file_size - file.data_offset));
  return file;
}

}  // namespace holdfast
