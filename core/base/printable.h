// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_PRINTABLE_H_
#define HOLDFAST_CORE_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// Returns the text with everything escaped that a terminal does not print but
// obeys: control characters of ASCII ("\n", "\x1b") and of Latin-1, the
// characters that turn the direction of writing, line separators, and bytes
// that are not UTF-8. A client's text can then neither forge a line nor hide
// one. Other text, of any language, stays as it is.
std::string ToPrintable(absl::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_PRINTABLE_H_
