// SPDX-License-Identifier: Apache-2.0
#include "server/kept/kept_name.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace holdfast {
namespace {

constexpr absl::string_view kPrefix = "hf.";
constexpr size_t kMaxNumbers = 8;

}  // namespace

std::string KeptName::ToString() const {
  std::string name = absl::StrCat(kPrefix, kind);
  for (const uint64_t number : numbers) {
    absl::StrAppend(&name, ".", absl::Hex(number));
  }
  if (version > 0) absl::StrAppend(&name, "~", absl::Hex(version));
  return name;
}

std::optional<KeptName> KeptName::Parse(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, kPrefix)) return std::nullopt;
  const size_t tilde = name.find('~');
  uint64_t version = 0;
  if (tilde != absl::string_view::npos &&
      (!absl::SimpleHexAtoi(name.substr(tilde + 1), &version) ||
       version == 0)) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> parts =
      absl::StrSplit(name.substr(0, tilde), '.');
  if (parts[0].empty() || parts.size() > 1 + kMaxNumbers) return std::nullopt;
  KeptName parsed{std::string(parts[0]), {}, version};
  for (size_t i = 1; i < parts.size(); ++i) {
    uint64_t number = 0;
    if (!absl::SimpleHexAtoi(parts[i], &number)) return std::nullopt;
    parsed.numbers.push_back(number);
  }
  return parsed;
}

uint64_t SessionNumber(absl::string_view session_id) {
  uint64_t number = 0;
  return absl::ConsumePrefix(&session_id, "s-") &&
                 absl::SimpleAtoi(session_id, &number)
             ? number
             : 0;
}

}  // namespace holdfast
