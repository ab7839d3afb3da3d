// SPDX-License-Identifier: Apache-2.0
#include "server/restart/inheritance.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/argv.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/restart/kept_name.h"

namespace holdfast {
namespace {

// Names a memfd with a line for each descriptor: its number and its name.
constexpr char kListVariable[] = "HOLDFAST_KEPT_FD";

absl::Status Take(absl::string_view line, Inheritance* inheritance) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(line, absl::MaxSplits(' ', 1));
  int number = -1;
  const auto name = KeptName::Parse(parts.second);
  if (!absl::SimpleAtoi(parts.first, &number) || !name.has_value() ||
      fcntl(number, F_SETFD, FD_CLOEXEC) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(kListVariable, ": no descriptor in \"", line, "\""));
  }
  inheritance->kept.push_back({*name, UniqueFd(number)});
  return absl::OkStatus();
}

// The descriptors that the daemon before has executed this one with.
absl::Status TakeList(Inheritance* inheritance) {
  const char* const variable = std::getenv(kListVariable);
  int number = -1;
  if (variable == nullptr) return absl::OkStatus();
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
    HOLDFAST_RETURN_IF_ERROR(Take(line, inheritance));
  }
  return absl::OkStatus();
}

// Takes listening sockets out of what was kept.
absl::Status SortSockets(Inheritance* inheritance) {
  std::vector<KeptDescriptor> others;
  for (KeptDescriptor& kept : inheritance->kept) {
    if (kept.name.kind == "listener") {
      inheritance->listeners.push_back(std::move(kept.fd));
    } else if (kept.name.kind == "given") {
      HOLDFAST_ASSIGN_OR_RETURN(std::string path,
                                ListeningPathOf(kept.fd.get()));
      inheritance->sockets.emplace(std::move(path), std::move(kept.fd));
    } else {
      others.push_back(std::move(kept));
    }
  }
  inheritance->kept = std::move(others);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Inheritance> TakeInheritance() {
  Inheritance inheritance;
  HOLDFAST_ASSIGN_OR_RETURN(InheritedDescriptors inherited,
                            TakeInheritedDescriptors());
  inheritance.sockets = std::move(inherited.sockets);
  for (auto& [text, fd] : inherited.kept) {
    const auto name = KeptName::Parse(text);
    if (!name.has_value()) continue;
    inheritance.kept.push_back({*name, std::move(fd)});
  }
  HOLDFAST_RETURN_IF_ERROR(TakeList(&inheritance));
  HOLDFAST_RETURN_IF_ERROR(SortSockets(&inheritance));
  return inheritance;
}

absl::Status ExecuteWith(const std::string& binary,
                         const std::vector<std::string>& arguments,
                         std::vector<KeptDescriptor> kept) {
  std::string lines;
  for (const KeptDescriptor& one : kept) {
    fcntl(one.fd.get(), F_SETFD, 0);
    absl::StrAppend(&lines, one.fd.get(), " ", one.name.ToString(), "\n");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd list,
                            CreateSealedMemfd("holdfast-kept", lines));
  fcntl(list.get(), F_SETFD, 0);
  setenv(kListVariable, absl::StrCat(list.get()).c_str(), /*overwrite=*/1);
  execv(binary.c_str(), Argv(arguments).data());
  return absl::ErrnoToStatus(errno, absl::StrCat("execute ", binary));
}

}  // namespace holdfast
