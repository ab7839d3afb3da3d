// SPDX-License-Identifier: Apache-2.0
#include "client/cli/color.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace holdfast::cli {
namespace {

bool IsSet(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// The parameter of ECMA-48's Select Graphic Rendition.
const char* CodeOf(Color color) {
  switch (color) {
    case Color::kBold:
      return "1";
    case Color::kRed:
      return "31";
    case Color::kGreen:
      return "32";
    case Color::kYellow:
      return "33";
    case Color::kReverse:
      return "7";
    case Color::kNone:
      break;
  }
  return "0";
}

}  // namespace

bool ShowsColors(std::FILE* file) {
  if (IsSet("NO_COLOR") || isatty(fileno(file)) != 1) return false;
  const char* const terminal = std::getenv("TERM");
  return terminal == nullptr || absl::string_view(terminal) != "dumb";
}

std::string Colored(absl::string_view text, Color color) {
  if (color == Color::kNone || text.empty()) return std::string(text);
  return absl::StrCat("\x1b[", CodeOf(color), "m", text, "\x1b[0m");
}

Color ColorOfState(absl::string_view name) {
  if (name == "ready" || name == "active") return Color::kGreen;
  for (const absl::string_view bad : {"quarantined", "lost", "faulted"}) {
    if (absl::StartsWith(name, bad)) return Color::kRed;
  }
  for (const absl::string_view passing :
       {"probing", "recovering", "closing", "suspending"}) {
    if (absl::StartsWith(name, passing)) return Color::kYellow;
  }
  return Color::kNone;
}

}  // namespace holdfast::cli
