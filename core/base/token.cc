// SPDX-License-Identifier: Apache-2.0
#include "core/base/token.h"

#include <sys/random.h>
#include <sys/types.h>

#include <cerrno>

#include "absl/status/status.h"

namespace holdfast {

absl::StatusOr<std::string> RandomToken(size_t size) {
  std::string token(size, '\0');
  if (getrandom(token.data(), size, 0) != static_cast<ssize_t>(size)) {
    return absl::ErrnoToStatus(errno, "getrandom");
  }
  return token;
}

bool EqualTokens(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}

}  // namespace holdfast
