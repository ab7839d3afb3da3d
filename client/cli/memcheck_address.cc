// SPDX-License-Identifier: Apache-2.0
#include "client/cli/memcheck_address.h"

#include "absl/strings/str_cat.h"
#include "client/cli/usage_error.h"

namespace holdfast::cli {

absl::StatusOr<std::string> MemcheckAddress(const CommonOptions& options,
                                            absl::string_view command) {
  if (!options.address.empty()) {
    return UsageError(absl::InvalidArgumentError(
        absl::StrCat(command,
                     ": --memcheck starts a daemon of its own; a daemon at an "
                     "--address has holdfastd's flag --software-memcheck")));
  }
  return std::string("embedded:device=cpu,software-memcheck=true");
}

}  // namespace holdfast::cli
