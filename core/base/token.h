// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_TOKEN_H_
#define HOLDFAST_CORE_BASE_TOKEN_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// Secrets by which a caller is known.

// Returns `size` random bytes that nobody can foresee. REQUIRES: size <= 256.
absl::StatusOr<std::string> RandomToken(size_t size);

// Returns true if the tokens are equal. The time depends on their length alone,
// so that it does not tell how much of a wrong token was right.
bool EqualTokens(absl::string_view a, absl::string_view b);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_TOKEN_H_
