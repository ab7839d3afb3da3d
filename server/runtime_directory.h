// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RUNTIME_DIRECTORY_H_
#define HOLDFAST_SERVER_RUNTIME_DIRECTORY_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace holdfast {

// Makes `path` with mode 0700, and its missing parents with 0755, unless it
// exists. Those whom `socket_mode` lets write to the sockets in it may pass
// through. PERMISSION_DENIED: it exists, and is another user's
// or no directory.
absl::Status MakePrivateDirectory(const std::string& path, mode_t socket_mode);

// The directory of this daemon's executor sockets, in the runtime directory;
// removed at the end, as are those that daemons left that were killed.
class RuntimeDirectory {
 public:
  static absl::StatusOr<std::unique_ptr<RuntimeDirectory>> Create(
      const std::string& parent, mode_t socket_mode);
  ~RuntimeDirectory();

  const std::string& path() const { return path_; }

 private:
  explicit RuntimeDirectory(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RUNTIME_DIRECTORY_H_
