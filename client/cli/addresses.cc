// SPDX-License-Identifier: Apache-2.0
#include "client/cli/addresses.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace holdfast::cli {
namespace {

bool HasForm(absl::string_view text) {
  for (const absl::string_view form : {"unix:", "tcp:", "tls:", "embedded:"}) {
    if (absl::StartsWith(text, form)) return true;
  }
  return false;
}

// Whether `part`, which follows a comma, belongs to the address before it. No
// comma belongs to HOST:PORT, so a mistake after one is an address of its own.
bool Continues(absl::string_view address, absl::string_view part) {
  if (HasForm(part)) return false;
  if (absl::StartsWith(address, "unix:")) return true;
  return !absl::StartsWith(address, "tcp:") && absl::StrContains(part, '=');
}

}  // namespace

std::vector<std::string> SplitAddresses(absl::string_view list) {
  std::vector<std::string> addresses;
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    if (!addresses.empty() && Continues(addresses.back(), part)) {
      absl::StrAppend(&addresses.back(), ",", part);
    } else if (!part.empty()) {
      addresses.emplace_back(part);
    }
  }
  return addresses;
}

}  // namespace holdfast::cli
