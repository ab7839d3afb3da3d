// SPDX-License-Identifier: Apache-2.0
#include "server/compile/installation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/cache_directory.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "core/compile/toolkit.h"

namespace holdfast {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

std::string PathIn(const std::string& directory) {
  return absl::StrCat(directory, "/", kInstallationFile);
}

// A place that is not there is a state, too.
std::string StateOf(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return absl::StrCat(path, " -\n");
  return absl::StrCat(path, " ", info.st_dev, " ", info.st_ino, " ",
                      info.st_size, " ", info.st_mtim.tv_sec, ".",
                      info.st_mtim.tv_nsec, " ", info.st_ctim.tv_sec, ".",
                      info.st_ctim.tv_nsec, "\n");
}

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return absl::StrCat(name, "=", value == nullptr ? "" : value, "\n");
}

// Empty: it cannot be read, or somebody else could have written it.
std::string ReadTrusted(const std::string& path) {
  const UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      !IsTrusted(info) || static_cast<size_t>(info.st_size) > kMaxBytes) {
    return "";
  }
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  const ssize_t n = read(fd.get(), bytes.data(), bytes.size());
  return n == info.st_size ? bytes : "";
}

}  // namespace

std::string InstallationState(const std::vector<std::string>& files) {
  std::string state =
      absl::StrCat(Variable("CUDA_HOME"), Variable("LD_LIBRARY_PATH"));
  for (const std::string& place : compile::SearchedPlaces({})) {
    absl::StrAppend(&state, StateOf(place));
  }
  for (const std::string& file : files) {
    if (access(file.c_str(), R_OK) != 0) return "";
    absl::StrAppend(&state, StateOf(file));
  }
  return state;
}

internal::Installation DescribeInstallation(const compile::Compiler& compiler) {
  internal::Installation installation;
  std::string identity = compiler.version();
  for (const std::string& path : compiler.files()) {
    struct stat file = {};
    if (stat(path.c_str(), &file) != 0) return {};
    // An update of the toolkit replaces the libraries' files.
    absl::StrAppend(&identity, " ", path, " ", file.st_size, " ",
                    file.st_mtim.tv_sec, ".", file.st_mtim.tv_nsec);
    installation.add_files(path);
  }
  for (const std::string& directory : compiler.directories()) {
    absl::StrAppend(&identity, " ", directory);
    installation.add_files(directory);
  }
  installation.set_identity(identity);
  installation.set_state(InstallationState(
      {installation.files().begin(), installation.files().end()}));
  return installation;
}

internal::Installation ReadInstallation(const std::string& directory) {
  internal::Installation installation;
  if (!CheckDirectory(directory).ok() ||
      !installation.ParseFromString(ReadTrusted(PathIn(directory))) ||
      installation.state().empty() ||
      installation.state() != InstallationState({installation.files().begin(),
                                                 installation.files().end()})) {
    installation.Clear();
  }
  return installation;
}

absl::Status WriteInstallation(const std::string& directory,
                               const internal::Installation& installation) {
  HOLDFAST_RETURN_IF_ERROR(MakeDirectories(directory));
  const std::string bytes = installation.SerializeAsString();
  if (ReadTrusted(PathIn(directory)) == bytes) return absl::OkStatus();
  return ReplaceFile(PathIn(directory), [&bytes](int fd) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    return n == static_cast<ssize_t>(bytes.size())
               ? absl::OkStatus()
               : absl::ErrnoToStatus(n < 0 ? errno : ENOSPC, "write");
  });
}

}  // namespace holdfast
