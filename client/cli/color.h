// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLOR_H_
#define HOLDFAST_CLIENT_CLI_COLOR_H_

#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"

namespace holdfast::cli {

enum class Color { kNone, kBold, kRed, kGreen, kYellow, kReverse };

// Returns true if `file` is a terminal, NO_COLOR is not set
// (https://no-color.org), and TERM is not "dumb".
bool ShowsColors(std::FILE* file);

// Returns the text with the escape sequences that make a terminal show it in
// this color. Returns it unchanged for kNone.
std::string Colored(absl::string_view text, Color color);

// Returns the color for the name of a device's health, such as "ready", or of a
// session's state, such as "active".
Color ColorOfState(absl::string_view name);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLOR_H_
