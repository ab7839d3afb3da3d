// SPDX-License-Identifier: Apache-2.0
//
// The files that a confined process sees: the directories and files that are
// mounted, and the symbolic links that lead to them. Paths are compared with
// all links and dots resolved, because CUDA toolkits often have two spellings
// of one path, or one spelling that leads elsewhere.
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
  std::string target;  // as in the link

  friend bool operator==(const PathLink&, const PathLink&) = default;
};

// The target of a path: an absolute path without links, dots or empty parts,
// and the links on the way.
struct ResolvedPath {
  std::string real;
  std::vector<PathLink> links;
};

// Resolves a path; a relative path starts at the working directory. NOT_FOUND:
// a part of the path is missing. Other errors tell why the path cannot be
// followed.
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
  std::vector<PathLink> links;  // not shown by a mount
};

// Plans a view in which every path of the list leads to the same file as now.
// Paths that do not exist are left out; paths that cannot be followed are left
// out and logged.
FileView PlanFileView(const std::vector<VisiblePath>& files);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_FILE_VIEW_H_
