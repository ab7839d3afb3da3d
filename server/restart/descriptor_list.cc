// SPDX-License-Identifier: Apache-2.0
#include "server/restart/descriptor_list.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// Names a memfd with a line for each descriptor: its number and its name.
constexpr char kListVariable[] = "HOLDFAST_KEPT_FD";

}  // namespace

absl::Status ListDescriptors(
    const std::vector<std::pair<std::string, int>>& descriptors) {
  std::string lines;
  for (const auto& [name, fd] : descriptors) {
    if (fcntl(fd, F_SETFD, 0) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("pass ", name, " on"));
    }
    absl::StrAppend(&lines, fd, " ", name, "\n");
  }
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd list,
                            CreateSealedMemfd("holdfast-kept", lines));
  fcntl(list.get(), F_SETFD, 0);
  // The program closes it.
  setenv(kListVariable, absl::StrCat(list.Release()).c_str(), /*overwrite=*/1);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::pair<std::string, UniqueFd>>>
TakeListedDescriptors() {
  std::vector<std::pair<std::string, UniqueFd>> descriptors;
  const char* const variable = std::getenv(kListVariable);
  if (variable == nullptr) return descriptors;
  int number = -1;
  if (!absl::SimpleAtoi(variable, &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kListVariable, "=", variable, " is no descriptor"));
  }
  unsetenv(kListVariable);
  const UniqueFd list(number);
  HOLDFAST_ASSIGN_OR_RETURN(
      const FileMapping lines,
      FileMapping::Map(list.get(), FileMapping::Access::kReadOnly));
  for (const absl::string_view line :
       absl::StrSplit(lines.bytes(), '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    int fd = -1;
    if (!absl::SimpleAtoi(parts.first, &fd) || fd < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(kListVariable, ": no descriptor in \"", line, "\""));
    }
    descriptors.emplace_back(parts.second, fd);
  }
  return descriptors;
}

}  // namespace holdfast
