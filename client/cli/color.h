// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLOR_H_
#define HOLDFAST_CLIENT_CLI_COLOR_H_

#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"

namespace holdfast::cli {

enum class Color { kNone, kBold, kRed, kGreen, kYellow, kReverse };

// Returns true if `file` is a terminal that is to show colours: NO_COLOR is not
// set (https://no-color.org), and TERM is not "dumb".
bool ShowsColors(std::FILE* file);

// Returns the text as a terminal shows it in the color. kNone: unchanged.
std::string Colored(absl::string_view text, Color color);

// The color of a device's health, "healthy", and of a session's state,
// "active", as people read them.
Color ColorOfState(absl::string_view name);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLOR_H_
