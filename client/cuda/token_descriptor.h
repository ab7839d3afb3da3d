// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_TOKEN_DESCRIPTOR_H_
#define HOLDFAST_CLIENT_CUDA_TOKEN_DESCRIPTOR_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast::libcuda {

inline constexpr size_t kTokenBytes = 16;

// Names the type of object that a token refers to: 7 characters and a NUL.
using TokenKind = char[8];

// Returns a sealed memfd with the kind and the token: a shareable handle that a
// program can send to another process. REQUIRES: `token` has kTokenBytes.
absl::StatusOr<UniqueFd> MakeTokenDescriptor(const TokenKind& kind,
                                             const std::string& token);

// Returns the token; "" if `fd` is not a descriptor of this kind.
std::string ReadToken(const TokenKind& kind, int fd);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_TOKEN_DESCRIPTOR_H_
