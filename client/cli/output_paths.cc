// SPDX-License-Identifier: Apache-2.0
#include "client/cli/output_paths.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"

namespace holdfast::cli {

namespace {

// A visible name of printable characters, and no option of any command.
std::string Harmless(std::string name) {
  if (ToPrintable(name) != name) {
    for (char& c : name) {
      if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) c = '_';
    }
  }
  if (name[0] == '.' || name[0] == '-') name[0] = '_';
  return name;
}

}  // namespace

absl::StatusOr<std::string> OutputPaths::Next(const std::string& file) {
  std::filesystem::path name = std::filesystem::path(file).filename();
  if (name.empty() || name == "." || name == "..") {
    return absl::InvalidArgumentError(
        absl::StrCat("a buffer's name, '", ToPrintable(file),
                     "', names no file in ", directory_.string()));
  }
  name = Harmless(name.string());
  std::string free = name.string();
  for (int number = 2; !taken_.insert(free).second; ++number) {
    free = absl::StrCat(name.stem().string(), "-", number,
                        name.extension().string());
  }
  return (directory_ / free).string();
}

}  // namespace holdfast::cli
