// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_UTF8_H_
#define HOLDFAST_CORE_BASE_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// The same text with each byte that is not part of well-formed UTF-8 replaced
// by U+FFFD. A `string` of proto3 that is not UTF-8 cannot be parsed by its
// receiver, and compilers quote their source as it is.
std::string ToValidUtf8(absl::string_view text);

bool IsValidUtf8(absl::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_UTF8_H_
