// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_TOKEN_H_
#define HOLDFAST_CORE_BASE_TOKEN_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// A token is a secret that identifies a caller.

// Returns `size` random bytes from the kernel, which cannot be predicted. Fails
// with the system's error. REQUIRES: size <= 256.
absl::StatusOr<std::string> RandomToken(size_t size);

// Returns true if the tokens are equal. The duration depends only on the
// lengths of the tokens, so it does not reveal how many bytes of a wrong token
// match.
bool EqualTokens(absl::string_view a, absl::string_view b);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_TOKEN_H_
