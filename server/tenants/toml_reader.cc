// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/toml_reader.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/base/nearest_word.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// Bytes of the buffer that a user's or group's entry is read into.
constexpr size_t kMaxEntryBytes = size_t{64} << 10;

constexpr absl::Duration kMaxTime = absl::Hours(24);

}  // namespace

std::string TomlReader::PlaceOf(const toml::source_position& at) const {
  return absl::StrCat(file_, ":", at.line, ":", at.column, ": ");
}

absl::Status TomlReader::ErrorAt(const toml::source_position& at,
                                 absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(PlaceOf(at), what));
}

absl::Status TomlReader::ErrorAt(const toml::node& node,
                                 absl::string_view what) const {
  return ErrorAt(node.source().begin, what);
}

absl::Status TomlReader::UnknownKey(
    const toml::key& key, const std::vector<std::string>& known) const {
  const absl::string_view name(key.str().data(), key.str().size());
  const std::string meant = DidYouMean(name, known);
  return ErrorAt(key.source().begin,
                 absl::StrCat("unknown key '", ToPrintable(name), "'", meant,
                              meant.empty() ? "; there are: " : " There are: ",
                              absl::StrJoin(known, ", ")));
}

absl::Status TomlReader::CheckKeys(
    const toml::table& table,
    std::initializer_list<absl::string_view> known) const {
  for (const auto& [key, value] : table) {
    const absl::string_view name(key.str().data(), key.str().size());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return UnknownKey(key, {known.begin(), known.end()});
  }
  return absl::OkStatus();
}

absl::StatusOr<const toml::table*> TomlReader::TableOf(
    const toml::node& node) const {
  if (const auto* const table = node.as_table()) return table;
  return ErrorAt(node, "a table is wanted here");
}

absl::StatusOr<const toml::array*> TomlReader::ArrayOf(
    const toml::node& node) const {
  if (const auto* const array = node.as_array()) return array;
  return ErrorAt(node, "an array is wanted here");
}

absl::StatusOr<std::string> TomlReader::TextOf(const toml::node& node) const {
  if (const auto* const text = node.as_string()) {
    if (!text->get().empty()) return text->get();
  }
  return ErrorAt(node, "a string is wanted here, and not an empty one");
}

absl::StatusOr<absl::Duration> TomlReader::TimeOf(
    const toml::node& node) const {
  absl::Duration time;
  const auto* const text = node.as_string();
  if (text != nullptr && absl::ParseDuration(text->get(), &time) &&
      time >= absl::Nanoseconds(1) && time <= kMaxTime) {
    return time;
  }
  return ErrorAt(node, "a time is wanted, from \"1ns\" to \"24h\"");
}

absl::StatusOr<uint64_t> TomlReader::NumberOf(const toml::node& node,
                                              uint64_t least,
                                              uint64_t most) const {
  const auto* const number = node.as_integer();
  if (number != nullptr && number->get() >= 0) {
    const auto value = static_cast<uint64_t>(number->get());
    if (value >= least && value <= most) return value;
  }
  return ErrorAt(
      node, absl::StrCat("a number from ", least, " to ", most, " is wanted"));
}

absl::StatusOr<uint32_t> TomlReader::PercentageOf(
    const toml::node& node) const {
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t percent, NumberOf(node, 1, 100));
  return static_cast<uint32_t>(percent);
}

absl::StatusOr<bool> TomlReader::BoolOf(const toml::node& node) const {
  if (const auto* const word = node.as_boolean()) return word->get();
  return ErrorAt(node, "true or false is wanted");
}

absl::StatusOr<uint64_t> TomlReader::BytesOf(const toml::node& node) const {
  constexpr absl::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (node.is_integer()) {
    return NumberOf(node, 1, std::numeric_limits<int64_t>::max());
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string text, TextOf(node));
  for (size_t i = 0; i < std::size(kUnits); ++i) {
    absl::string_view digits = text;
    if (!absl::ConsumeSuffix(&digits, kUnits[i])) continue;
    const uint64_t unit = uint64_t{1} << (10 * (i + 1));
    uint64_t number = 0;
    if (absl::SimpleAtoi(digits, &number) && number > 0 &&
        number <= std::numeric_limits<int64_t>::max() / unit) {
      return number * unit;
    }
  }
  return ErrorAt(node, absl::StrCat("'", ToPrintable(text),
                                    "' is no size; write 8GiB, with one of "
                                    "KiB, MiB, GiB, TiB, or a number"));
}

absl::StatusOr<uid_t> TomlReader::UserOf(const toml::node& node) const {
  if (node.is_integer()) {
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t number,
                              NumberOf(node, 0, UINT32_MAX - 1));
    return static_cast<uid_t>(number);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string name, TextOf(node));
  std::vector<char> buffer(kMaxEntryBytes);
  passwd entry = {};
  passwd* found = nullptr;
  getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return entry.pw_uid;
  return ErrorAt(
      node, absl::StrCat("this machine has no user '", ToPrintable(name), "'"));
}

absl::StatusOr<gid_t> TomlReader::GroupOf(const toml::node& node) const {
  if (node.is_integer()) {
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t number,
                              NumberOf(node, 0, UINT32_MAX - 1));
    return static_cast<gid_t>(number);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string name, TextOf(node));
  std::vector<char> buffer(kMaxEntryBytes);
  group entry = {};
  group* found = nullptr;
  getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return entry.gr_gid;
  return ErrorAt(node, absl::StrCat("this machine has no group '",
                                    ToPrintable(name), "'"));
}

}  // namespace holdfast
