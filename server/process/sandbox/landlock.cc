// SPDX-License-Identifier: Apache-2.0
#include "server/process/sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "absl/status/statusor.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr uint64_t kReadTree = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
// Newer than the headers of the distribution that this is built on.
constexpr uint64_t kTruncate = 1 << 14;       // version 3
constexpr uint64_t kDeviceControl = 1 << 15;  // version 5
constexpr uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;

// Rights by the version of Landlock that brought them.
struct Attributes {
  uint64_t files;
  uint64_t network;  // version 4
  uint64_t scoped;   // version 6
};
constexpr uint64_t kFiles[] = {(uint64_t{1} << 13) - 1, 1 << 13, 1 << 14, 0,
                               1 << 15};
constexpr uint64_t kNetwork = 3;  // bind and connect of TCP
constexpr uint64_t kScoped = 3;   // abstract Unix sockets, signals

absl::Status Failed(const char* call) {
  return absl::UnavailableError(absl::ErrnoToStatus(errno, call).message());
}

struct Ruleset {
  UniqueFd fd;
  uint64_t handled_files = 0;  // access rights that this kernel knows
};

// All that this kernel can handle: what is handled is forbidden unless a rule
// allows it.
absl::StatusOr<Ruleset> CreateRuleset() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0,
                               LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return Failed("landlock_create_ruleset");
  Attributes attributes = {};
  for (size_t i = 0; i < std::size(kFiles) && static_cast<long>(i) < version;
       ++i) {
    attributes.files |= kFiles[i];
  }
  if (version >= 4) attributes.network = kNetwork;
  if (version >= 6) attributes.scoped = kScoped;
  const size_t size = version >= 6   ? sizeof attributes
                      : version >= 4 ? offsetof(Attributes, scoped)
                                     : offsetof(Attributes, network);
  Ruleset ruleset;
  ruleset.handled_files = attributes.files;
  ruleset.fd.Reset(static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset.fd.valid()) return Failed("landlock_create_ruleset");
  return ruleset;
}

uint64_t RightsOf(const VisiblePath& file, bool directory) {
  const uint64_t read = directory ? kReadTree : kReadFile;
  switch (file.access) {
    case VisiblePath::Access::kRead:
      return read;
    case VisiblePath::Access::kWrite:
      return read | kWriteFile;
    case VisiblePath::Access::kDevice:
      return read | kWriteFile | kDeviceControl;
    case VisiblePath::Access::kShow:
      return 0;
  }
  return 0;
}

absl::Status Allow(const Ruleset& ruleset, const VisiblePath& file) {
  const UniqueFd fd(open(file.path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info = {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) {
      LogWarning("\"", file.path, "\" is not made readable for a confined ",
                 "process: ", Failed("open").message());
    }
    return absl::OkStatus();
  }
  const uint64_t rights =
      RightsOf(file, S_ISDIR(info.st_mode)) & ruleset.handled_files;
  if (rights == 0) return absl::OkStatus();
  const landlock_path_beneath_attr rule = {.allowed_access = rights,
                                           .parent_fd = fd.get()};
  if (syscall(SYS_landlock_add_rule, ruleset.fd.get(),
              LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return Failed("landlock_add_rule");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AllowFiles(const std::vector<VisiblePath>& files) {
  HOLDFAST_ASSIGN_OR_RETURN(const Ruleset ruleset, CreateRuleset());
  for (const VisiblePath& file : files) {
    HOLDFAST_RETURN_IF_ERROR(Allow(ruleset, file));
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_landlock_restrict_self, ruleset.fd.get(), 0) != 0) {
    return Failed("landlock_restrict_self");
  }
  return absl::OkStatus();
}

}  // namespace holdfast
