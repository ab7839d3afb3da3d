// SPDX-License-Identifier: Apache-2.0
//
// The view of files that a confined process gets: which directories and files
// are mounted in it, and which symbolic links lead to them. Paths are compared
// after all links and dots are resolved, since two spellings of one place, or
// one spelling that leads elsewhere, are common in CUDA toolkits.
#ifndef HOLDFAST_SERVER_PROCESS_SANDBOX_FILE_VIEW_H_
#define HOLDFAST_SERVER_PROCESS_SANDBOX_FILE_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/process/sandbox/policy.h"

namespace holdfast {

// A symbolic link on the way to a visible path. Its own path has no link.
struct PathLink {
  std::string path;
  std::string target;  // as the link has it

  friend bool operator==(const PathLink&, const PathLink&) = default;
};

// Where a path leads: an absolute path without links, dots or empty parts, and
// the links on the way.
struct ResolvedPath {
  std::string real;
  std::vector<PathLink> links;
};

// NOT_FOUND: a part of the path is missing; else why the path cannot be
// followed. A relative path starts at the working directory.
absl::StatusOr<ResolvedPath> ResolvePath(const std::string& path);

struct FileView {
  struct Mount {
    std::string path;         // real
    uint64_t attributes = 0;  // MOUNT_ATTR_*

    friend bool operator==(const Mount&, const Mount&) = default;
  };
  // Outer directories first. A path below another mount is left out, unless
  // that mount forbids what the path allows.
  std::vector<Mount> mounts;
  std::vector<PathLink> links;  // that no mount shows
};

// Makes every path of the list lead where it leads now. Paths that do not exist
// are left out; one that cannot be followed is left out and logged.
FileView PlanFileView(const std::vector<VisiblePath>& files);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_FILE_VIEW_H_
