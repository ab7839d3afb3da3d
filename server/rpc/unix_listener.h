// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_UNIX_LISTENER_H_
#define HOLDFAST_SERVER_RPC_UNIX_LISTENER_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// A listening Unix socket. We accept by ourselves and hand the connections to
// gRPC, to know each client's user and process, and to set the file's mode
// before anybody can connect.
class UnixListener {
 public:
  // Makes the file; a file that is left from a dead daemon is replaced.
  // ALREADY_EXISTS: a daemon answers there, or the path is no socket.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Listen(
      const std::string& path, mode_t mode);

  // Ends the thread, closes the socket and removes the file.
  ~UnixListener();

  const std::string& path() const { return path_; }

  // Starts accepting; each connection, not blocking and close-on-exec, goes
  // to `on_connection` in the listener's own thread. Once.
  void Start(std::function<void(UniqueFd)> on_connection);

 private:
  UnixListener(std::string path, UniqueFd socket);
  void Accept(const std::function<void(UniqueFd)>& on_connection);

  const std::string path_;
  const UniqueFd socket_;
  ino_t inode_ = 0;  // to remove no file but ours
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_UNIX_LISTENER_H_
