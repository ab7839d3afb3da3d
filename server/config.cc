// SPDX-License-Identifier: Apache-2.0
#include "server/config.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace holdfast {

std::string DefaultRuntimeDirectory() {
  const uid_t user = geteuid();
  if (user == 0) return "/run/holdfast";
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') {
    return absl::StrCat(runtime, "/holdfast");
  }
  return absl::StrCat("/tmp/holdfast-", user);
}

}  // namespace holdfast
