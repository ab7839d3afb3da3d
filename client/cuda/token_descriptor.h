// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_TOKEN_DESCRIPTOR_H_
#define HOLDFAST_CLIENT_CUDA_TOKEN_DESCRIPTOR_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast::libcuda {

inline constexpr size_t kTokenBytes = 16;

// What a token stands for: seven characters and a zero.
using TokenKind = char[8];

// Makes a file descriptor that a program passes to another process, where CUDA
// has one: a sealed file in memory with the kind and the token.
absl::StatusOr<UniqueFd> MakeTokenDescriptor(const TokenKind& kind,
                                             const std::string& token);

// Returns the token. Empty: the descriptor is not one of this kind.
std::string ReadToken(const TokenKind& kind, int fd);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_TOKEN_DESCRIPTOR_H_
