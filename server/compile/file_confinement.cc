// SPDX-License-Identifier: Apache-2.0
#include "server/compile/file_confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

constexpr __u64 kRead =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

// Newer than the headers of the distribution that this is built on: rights by
// the version of Landlock that brought them.
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

// All that this kernel can handle: what is handled is forbidden unless a rule
// allows it.
absl::StatusOr<UniqueFd> CreateRuleset() {
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
  UniqueFd ruleset(static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset.valid()) return Failed("landlock_create_ruleset");
  return ruleset;
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
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd ruleset, CreateRuleset());
  for (const std::string& directory : directories) {
    HOLDFAST_RETURN_IF_ERROR(AllowReading(ruleset.get(), directory));
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return Failed("landlock_restrict_self");
  }
  return absl::OkStatus();
}

}  // namespace holdfast
