// SPDX-License-Identifier: Apache-2.0
#include "server/restart/arguments.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace holdfast {

void SetFlag(absl::string_view flag, bool takes_value, absl::string_view value,
             std::vector<std::string>* arguments) {
  const std::string with_value = absl::StrCat(flag, "=");
  std::vector<std::string> others;
  for (size_t i = 0; i < arguments->size(); ++i) {
    std::string& argument = (*arguments)[i];
    if (i > 0 && argument == flag) {
      if (takes_value) ++i;
    } else if (i == 0 || !absl::StartsWith(argument, with_value)) {
      others.push_back(std::move(argument));
    }
  }
  others.push_back(absl::StrCat(flag, "=", value));
  *arguments = std::move(others);
}

}  // namespace holdfast
