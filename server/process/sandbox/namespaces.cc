// SPDX-License-Identifier: Apache-2.0
#include "server/process/sandbox/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "server/process/sandbox/file_view.h"

namespace holdfast {
namespace {

// Exists everywhere; what stands below it is hidden from this process alone.
constexpr char kRoot[] = "/tmp";

constexpr int kFileNamespaces = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
constexpr int kAllNamespaces = kFileNamespaces | CLONE_NEWPID | CLONE_NEWNET;

absl::Status Failed(absl::string_view call) {
  return absl::UnavailableError(absl::ErrnoToStatus(errno, call).message());
}

void WriteFile(const char* path, const std::string& text) {
  const UniqueFd fd(open(path, O_WRONLY | O_CLOEXEC));
  [[maybe_unused]] const ssize_t n = write(fd.get(), text.data(), text.size());
}

// Root inside is this user outside. Only who is known inside can make
// directories there; only root keeps its capabilities over execve.
void MapIds(uid_t user, gid_t group) {
  WriteFile("/proc/self/uid_map", absl::StrCat("0 ", user, " 1"));
  WriteFile("/proc/self/setgroups", "deny");
  WriteFile("/proc/self/gid_map", absl::StrCat("0 ", group, " 1"));
}

// The bare system call: without a stack of its own it returns twice, as fork.
pid_t Clone(int flags) {
  return static_cast<pid_t>(
      syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, 0));
}

pid_t CloneWithUserNamespace(int flags) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  const pid_t pid = Clone(flags | CLONE_NEWUSER);
  if (pid == 0) MapIds(user, group);
  return pid;
}

void MakeDirectories(const std::string& path) {
  for (size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    mkdir(path.substr(0, at).c_str(), 0755);
  }
}

// An empty file or directory to mount on; false: what is there will do.
void MakePlace(const std::string& path, bool directory) {
  if (directory) return MakeDirectories(path);
  MakeDirectories(path.substr(0, path.rfind('/')));
  const UniqueFd fd(open(path.c_str(), O_CREAT | O_CLOEXEC | O_RDONLY, 0644));
}

// A mount with what opens its files, since kRoot may hide them later.
struct OpenedMount {
  UniqueFd fd;
  FileView::Mount mount;
  bool directory = false;
};

std::vector<OpenedMount> Open(const std::vector<FileView::Mount>& mounts) {
  std::vector<OpenedMount> opened;
  for (const FileView::Mount& mount : mounts) {
    UniqueFd fd(open(mount.path.c_str(), O_PATH | O_CLOEXEC));
    struct stat info = {};
    if (!fd.valid() || fstat(fd.get(), &info) != 0) {
      LogWarning("\"", mount.path, "\" is not made visible to a confined ",
                 "process: ", Failed("open").message());
      continue;
    }
    opened.push_back({std::move(fd), mount, S_ISDIR(info.st_mode)});
  }
  return opened;
}

absl::Status Bind(const OpenedMount& opened) {
  const std::string place = absl::StrCat(kRoot, opened.mount.path);
  MakePlace(place, opened.directory);
  const std::string source = absl::StrCat("/proc/self/fd/", opened.fd.get());
  if (mount(source.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC,
            nullptr) != 0) {
    return Failed(absl::StrCat("bind mount at ", place));
  }
  mount_attr attributes = {};
  attributes.attr_set = opened.mount.attributes;
  if (syscall(SYS_mount_setattr, AT_FDCWD, place.c_str(), 0, &attributes,
              sizeof attributes) != 0) {
    return Failed("mount_setattr");
  }
  return absl::OkStatus();
}

absl::Status MakeLink(const PathLink& link) {
  const std::string place = absl::StrCat(kRoot, link.path);
  MakeDirectories(place.substr(0, place.rfind('/')));
  if (symlink(link.target.c_str(), place.c_str()) != 0) {
    return Failed(absl::StrCat("symbolic link at ", place));
  }
  return absl::OkStatus();
}

// Nothing that is mounted or unmounted from here on is seen outside.
absl::Status StopPropagation() {
  if (mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {
    return absl::OkStatus();
  }
  if (errno != EINVAL) return Failed("make / private");
  return absl::UnavailableError(
      "the root directory that chroot has set is not a mount point: bind it "
      "onto itself, or use pivot_root");
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

pid_t ForkIntoNamespaces(Namespaces wanted, Namespaces* entered) {
  *entered = wanted;
  if (wanted != Namespaces::kNone) {
    const int flags =
        wanted == Namespaces::kAll ? kAllNamespaces : kFileNamespaces;
    pid_t pid = geteuid() == 0 ? Clone(flags) : -1;
    if (pid < 0) pid = CloneWithUserNamespace(flags);
    if (pid >= 0) return pid;
  }
  *entered = Namespaces::kNone;
  return Clone(0);
}

absl::Status ShowOnly(const std::vector<VisiblePath>& files) {
  const FileView view = PlanFileView(files);
  const std::vector<OpenedMount> opened = Open(view.mounts);
  // Another user will pass through the directories that are made.
  const mode_t mask = umask(0022);
  const auto restore = absl::MakeCleanup([mask] { umask(mask); });
  HOLDFAST_RETURN_IF_ERROR(StopPropagation());
  if (mount("tmpfs", kRoot, "tmpfs", MS_NOSUID | MS_NODEV,
            "size=1m,mode=755") != 0) {
    return Failed(absl::StrCat("mount at ", kRoot));
  }
  for (const OpenedMount& mount : opened) HOLDFAST_RETURN_IF_ERROR(Bind(mount));
  for (const PathLink& link : view.links) {
    HOLDFAST_RETURN_IF_ERROR(MakeLink(link));
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
