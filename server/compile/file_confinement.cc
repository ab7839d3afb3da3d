// SPDX-License-Identifier: Apache-2.0
#include "server/compile/file_confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <iterator>

#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

// Every right of Landlock's first version: what is handled is forbidden unless
// a rule allows it.
constexpr __u64 kHandled = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
constexpr __u64 kRead =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

// What the compiler loads itself: its parts, libc's, the C++ library's.
constexpr const char* kLibraries[] = {"/lib", "/lib64", "/usr/lib",
                                      "/usr/lib64"};

absl::Status Failed(const char* call) {
  return absl::UnavailableError(absl::ErrnoToStatus(errno, call).message());
}

absl::Status AllowReading(int ruleset, const std::string& directory) {
  const UniqueFd fd(open(directory.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.valid()) return absl::OkStatus();
  const landlock_path_beneath_attr rule = {.allowed_access = kRead,
                                           .parent_fd = fd.get()};
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule,
              0) != 0) {
    return Failed("landlock_add_rule");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AllowFilesBelow(const std::vector<std::string>& directories) {
  const landlock_ruleset_attr attributes = {.handled_access_fs = kHandled};
  const UniqueFd ruleset(static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!ruleset.valid()) return Failed("landlock_create_ruleset");
  std::vector<std::string> readable = directories;
  readable.insert(readable.end(), std::begin(kLibraries), std::end(kLibraries));
  for (const std::string& directory : readable) {
    const absl::Status status = AllowReading(ruleset.get(), directory);
    if (!status.ok()) return status;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return Failed("landlock_restrict_self");
  }
  return absl::OkStatus();
}

}  // namespace holdfast
