// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_PRINTABLE_H_
#define HOLDFAST_CORE_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// Escapes all characters that control a terminal instead of being printed: the
// control characters of ASCII ("\n", "\x1b") and of Latin-1, characters that
// change the direction of text, line separators, and bytes that are not UTF-8.
// A client's text can then neither forge nor hide a line. Other text, in any
// language, is unchanged.
std::string ToPrintable(absl::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_PRINTABLE_H_
