// SPDX-License-Identifier: Apache-2.0
#include "core/base/uuid_text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace holdfast {

std::string UuidText(absl::string_view uuid) {
  const std::string hex = absl::BytesToHexString(uuid);
  if (uuid.size() != 16) return hex;
  return absl::StrCat("GPU-", hex.substr(0, 8), "-", hex.substr(8, 4), "-",
                      hex.substr(12, 4), "-", hex.substr(16, 4), "-",
                      hex.substr(20));
}

}  // namespace holdfast
