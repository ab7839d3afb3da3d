// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/tenant_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

absl::Status CheckTenantName(absl::string_view name) {
  if (!name.empty() && name.size() <= kMaxTenantName &&
      std::all_of(name.begin(), name.end(), IsNameCharacter)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CEscape(name.substr(0, kMaxTenantName)),
                   "' is no tenant's name: it has 1 to ", kMaxTenantName,
                   " letters, digits and '._-'"));
}

}  // namespace holdfast
