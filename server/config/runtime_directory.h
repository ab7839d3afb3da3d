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

// Makes `path` with mode 0700, and its missing parents with 0755, unless it
// exists. Users to whom `socket_mode` allows the sockets in it may enter it.
// PERMISSION_DENIED: the path belongs to another user, or is not a directory.
absl::Status MakePrivateDirectory(const std::string& path, mode_t socket_mode);

// The directory of this daemon's executor sockets, in the runtime directory.
// The destructor removes it; Create removes the directories of killed daemons.
// A descriptor of the directory holds a lock on it, which shows that its daemon
// lives or will have a successor.
class RuntimeDirectory {
 public:
  // Checks what Create needs of `parent`, and makes nothing.
  static absl::Status Check(const std::string& parent);
  static absl::StatusOr<std::unique_ptr<RuntimeDirectory>> Create(
      const std::string& parent, mode_t socket_mode);
  // Takes over the directory of the earlier daemon. INVALID_ARGUMENT: `fd` is
  // not such a directory in `parent`.
  static absl::StatusOr<std::unique_ptr<RuntimeDirectory>> Adopt(
      const std::string& parent, UniqueFd fd);
  ~RuntimeDirectory();

  const std::string& path() const { return path_; }
  int descriptor() const { return fd_.get(); }

 private:
  RuntimeDirectory(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  const std::string path_;
  const UniqueFd fd_;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_CONFIG_RUNTIME_DIRECTORY_H_
