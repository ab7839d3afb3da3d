// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/token_descriptor.h"

#include <unistd.h>

#include <cstring>

#include "core/base/memfd.h"

namespace holdfast::libcuda {

absl::StatusOr<UniqueFd> MakeTokenDescriptor(const TokenKind& kind,
                                             const std::string& token) {
  return CreateSealedMemfd("holdfast-token",
                           std::string(kind, sizeof kind) + token);
}

std::string ReadToken(const TokenKind& kind, int fd) {
  char bytes[sizeof kind + kTokenBytes + 1];
  if (!IsSealed(fd) || pread(fd, bytes, sizeof bytes, 0) != sizeof bytes - 1 ||
      std::memcmp(bytes, kind, sizeof kind) != 0) {
    return "";
  }
  return std::string(bytes + sizeof kind, kTokenBytes);
}

}  // namespace holdfast::libcuda
