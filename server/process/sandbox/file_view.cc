// SPDX-License-Identifier: Apache-2.0
#include "server/process/sandbox/file_view.h"

#include <errno.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/log.h"

namespace holdfast {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel has it

uint64_t AttributesOf(VisiblePath::Access access) {
  using Access = VisiblePath::Access;
  uint64_t attributes = MOUNT_ATTR_NOSUID;
  if (access != Access::kDevice) attributes |= MOUNT_ATTR_NODEV;
  if (access == Access::kRead) attributes |= MOUNT_ATTR_RDONLY;
  return attributes;
}

// Puts the parts of `path` before those that are left to follow.
void Prepend(const std::string& path, std::deque<std::string>* parts) {
  const std::vector<std::string> more =
      absl::StrSplit(path, '/', absl::SkipEmpty());
  parts->insert(parts->begin(), more.begin(), more.end());
}

bool IsAt(const std::string& path, const std::string& place) {
  return path == place || place == "/" || absl::StartsWith(path, place + "/");
}

bool Shows(const FileView::Mount& mount, const FileView::Mount& other) {
  const bool allows = (mount.attributes & ~other.attributes) == 0;
  return allows && IsAt(other.path, mount.path);
}

// Adds to the mounts that do not show it, which are those of its outer
// directories.
void Add(FileView::Mount mount, std::vector<FileView::Mount>* mounts) {
  const bool shown =
      std::any_of(mounts->begin(), mounts->end(),
                  [&](const auto& other) { return Shows(other, mount); });
  if (!shown) mounts->push_back(std::move(mount));
}

std::vector<FileView::Mount> Outermost(std::vector<FileView::Mount> all) {
  // A path before what lies below it, and of two rules for one path the one
  // that forbids less.
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.path != b.path ? a.path < b.path : a.attributes < b.attributes;
  });
  std::vector<FileView::Mount> mounts;
  for (FileView::Mount& mount : all) Add(std::move(mount), &mounts);
  return mounts;
}

bool IsShown(const PathLink& link, const FileView& view) {
  return std::find(view.links.begin(), view.links.end(), link) !=
             view.links.end() ||
         std::any_of(
             view.mounts.begin(), view.mounts.end(),
             [&](const auto& mount) { return IsAt(link.path, mount.path); });
}

}  // namespace

absl::StatusOr<ResolvedPath> ResolvePath(const std::string& path) {
  ResolvedPath resolved;
  std::deque<std::string> parts;
  Prepend(path, &parts);
  if (!absl::StartsWith(path, "/")) {
    std::error_code error;
    Prepend(std::filesystem::current_path(error).string(), &parts);
  }
  while (!parts.empty()) {
    const std::string part = std::move(parts.front());
    parts.pop_front();
    if (part == ".") continue;
    if (part == "..") {
      const size_t parent = resolved.real.rfind('/');
      if (parent != std::string::npos) resolved.real.resize(parent);
      continue;
    }
    const std::string next = absl::StrCat(resolved.real, "/", part);
    struct stat info = {};
    if (lstat(next.c_str(), &info) != 0) {
      return absl::ErrnoToStatus(errno, next);
    }
    if (!S_ISLNK(info.st_mode)) {
      resolved.real = next;
      continue;
    }
    char target[PATH_MAX];
    const ssize_t n = readlink(next.c_str(), target, sizeof target);
    if (n < 0) return absl::ErrnoToStatus(errno, next);
    if (resolved.links.size() == kMaxLinks) {
      return absl::ErrnoToStatus(ELOOP, path);
    }
    resolved.links.push_back({next, {target, static_cast<size_t>(n)}});
    Prepend(resolved.links.back().target, &parts);
    if (n > 0 && target[0] == '/') resolved.real.clear();
  }
  if (resolved.real.empty()) resolved.real = "/";
  return resolved;
}

FileView PlanFileView(const std::vector<VisiblePath>& files) {
  std::vector<FileView::Mount> all;
  std::vector<PathLink> links;
  for (const VisiblePath& file : files) {
    absl::StatusOr<ResolvedPath> resolved = ResolvePath(file.path);
    if (!resolved.ok()) {
      if (!absl::IsNotFound(resolved.status())) {
        LogWarning("\"", file.path, "\" is not made visible to a confined ",
                   "process: ", resolved.status().message());
      }
      continue;
    }
    all.push_back({std::move(resolved->real), AttributesOf(file.access)});
    links.insert(links.end(), resolved->links.begin(), resolved->links.end());
  }
  FileView view{Outermost(std::move(all)), {}};
  for (PathLink& link : links) {
    if (!IsShown(link, view)) view.links.push_back(std::move(link));
  }
  return view;
}

}  // namespace holdfast
