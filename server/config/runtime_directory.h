// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_CONFIG_RUNTIME_DIRECTORY_H_
#define HOLDFAST_SERVER_CONFIG_RUNTIME_DIRECTORY_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast::server {

// Makes the directory `path`, and its missing parents with mode 0755, unless
// `path` exists. The mode of `path` is 0700, and also lets the group or others
// search it if `socket_mode` lets them write to sockets. PERMISSION_DENIED: the
// path is not a directory, belongs to another user, or other users may write to
// it. Fails also with the error of mkdir().
absl::Status MakePrivateDirectory(const std::string& path, mode_t socket_mode);

// The directory of this daemon's executor sockets, in the runtime directory.
// The destructor removes the directory with its contents; Create removes the
// directories of killed daemons. A descriptor of the directory holds a lock on
// it. The lock shows that the daemon lives, or that a next daemon can take the
// directory over.
class RuntimeDirectory {
 public:
  // Checks whether Create could make and use `parent`, and makes nothing.
  // INVALID_ARGUMENT: the path is too long for the paths of sockets in it.
  // PERMISSION_DENIED: it cannot be made or used.
  static absl::Status Check(const std::string& parent);
  // Makes the directory, and `parent` if it is missing. INVALID_ARGUMENT: as
  // Check. Fails also as MakePrivateDirectory.
  static absl::StatusOr<std::unique_ptr<RuntimeDirectory>> Create(
      const std::string& parent, mode_t socket_mode);
  // Takes over the directory of the earlier daemon, whose descriptor is `fd`.
  // INVALID_ARGUMENT: `fd` is not such a directory in `parent`.
  static absl::StatusOr<std::unique_ptr<RuntimeDirectory>> Adopt(
      const std::string& parent, UniqueFd fd);
  ~RuntimeDirectory();

  const std::string& path() const { return path_; }
  // The descriptor with the lock; the object keeps it open.
  int descriptor() const { return fd_.get(); }

 private:
  RuntimeDirectory(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  const std::string path_;
  const UniqueFd fd_;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_RUNTIME_DIRECTORY_H_
