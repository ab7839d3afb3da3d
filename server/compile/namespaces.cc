// SPDX-License-Identifier: Apache-2.0
#include "server/compile/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

// Exists everywhere; what stands below it is hidden from this process alone.
constexpr char kRoot[] = "/tmp";

absl::Status Failed(absl::string_view call) {
  return absl::UnavailableError(absl::ErrnoToStatus(errno, call).message());
}

// As the children of the daemon do; a change of privileges has ended it.
void DieWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
}

void WriteFile(const char* path, const std::string& text) {
  const UniqueFd fd(open(path, O_WRONLY | O_CLOEXEC));
  [[maybe_unused]] const ssize_t n = write(fd.get(), text.data(), text.size());
}

// Only who is known inside can make directories there.
void MapIds(uid_t user, gid_t group) {
  WriteFile("/proc/self/uid_map", absl::StrCat(user, " ", user, " 1"));
  WriteFile("/proc/self/setgroups", "deny");
  WriteFile("/proc/self/gid_map", absl::StrCat(group, " ", group, " 1"));
}

void MakeDirectories(const std::string& path) {
  for (size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    mkdir(path.substr(0, at).c_str(), 0700);
  }
}

absl::Status BindReadOnly(const UniqueFd& directory, const std::string& path) {
  MakeDirectories(path);
  const std::string source = absl::StrCat("/proc/self/fd/", directory.get());
  if (mount(source.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return Failed(absl::StrCat("bind mount at ", path));
  }
  mount_attr attributes = {};
  attributes.attr_set =
      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (syscall(SYS_mount_setattr, AT_FDCWD, path.c_str(), 0, &attributes,
              sizeof attributes) != 0) {
    return Failed("mount_setattr");
  }
  return absl::OkStatus();
}

absl::Status ChangeRoot() {
  // With twice the same path the old root lies on the new one.
  if (chdir(kRoot) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 ||
      umount2(".", MNT_DETACH) != 0 || chdir("/") != 0 ||
      mount("", "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) {
    return Failed("pivot_root");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EnterOwnNamespaces() {
  const pid_t parent = getppid();
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC) != 0) {
    return Failed("unshare");
  }
  MapIds(user, group);
  DieWithParent(parent);
  return absl::OkStatus();
}

absl::Status ShowOnly(const std::vector<std::string>& directories) {
  // Opened before kRoot hides what may lie below it.
  std::vector<UniqueFd> opened;
  opened.reserve(directories.size());
  for (const std::string& directory : directories) {
    opened.emplace_back(
        open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  if (mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", kRoot, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m") != 0) {
    return Failed("mount");
  }
  for (size_t i = 0; i < directories.size(); ++i) {
    if (!opened[i].valid()) continue;
    HOLDFAST_RETURN_IF_ERROR(
        BindReadOnly(opened[i], absl::StrCat(kRoot, directories[i])));
  }
  return ChangeRoot();
}

absl::Status DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capset, &header, none) != 0) return Failed("capset");
  return absl::OkStatus();
}

}  // namespace holdfast
