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
// exists. Those whom `socket_mode` lets write to the sockets in it may pass
// through. PERMISSION_DENIED: it exists, and is another user's
// or no directory.
absl::Status MakePrivateDirectory(const std::string& path, mode_t socket_mode);

// The directory of this daemon's executor sockets, in the runtime directory;
// removed at the end, as are those that daemons left that were killed. Whoever
// has its descriptor holds a lock on it: its daemon lives, or is to have a
// successor.
class RuntimeDirectory {
 public:
  static absl::StatusOr<std::unique_ptr<RuntimeDirectory>> Create(
      const std::string& parent, mode_t socket_mode);
  // The directory of the daemon before this one. INVALID_ARGUMENT: `fd` is none
  // in `parent`.
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
