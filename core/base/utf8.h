// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_UTF8_H_
#define HOLDFAST_CORE_BASE_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// Returns the text with each byte that is not well-formed UTF-8 replaced by
// U+FFFD. A receiver cannot parse a proto3 `string` that is not UTF-8, and
// compilers quote their source unchanged.
std::string ToValidUtf8(absl::string_view text);

bool IsValidUtf8(absl::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_UTF8_H_
