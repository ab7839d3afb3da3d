// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_UNIX_LISTENER_H_
#define HOLDFAST_SERVER_RPC_UNIX_LISTENER_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "server/rpc/accept_thread.h"

namespace holdfast {

// A listening Unix socket and its file. The file has its mode before other
// users can connect.
//
// RpcServer has one for each Unix endpoint.
class UnixListener {
 public:
  // Makes the socket and its file; replaces the file of a dead daemon. Errors
  // name the path. ALREADY_EXISTS: a daemon answers at the path, or the path is
  // not a socket. REQUIRES: the path has at most kMaxSocketPathBytes.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Listen(
      const std::string& path, mode_t mode);

  // Takes over the service manager's socket at `path`, which outlives this
  // process; the file is never removed. FAILED_PRECONDITION: the file's mode is
  // not `mode`.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Adopt(
      const std::string& path, UniqueFd socket, mode_t mode);

  // Takes over the earlier daemon's socket, which listens at `path`, and its
  // file. The destructor removes the file.
  static std::unique_ptr<UnixListener> TakeOver(const std::string& path,
                                                UniqueFd socket);

  // Ends the thread and closes the socket; removes the file that Listen made.
  ~UnixListener();

  const std::string& path() const { return path_; }
  // Returns true if the daemon owns the file; false if the service manager
  // does. The next daemon owns the same files.
  bool owns_file() const { return inode_ != 0; }
  // The listening socket, borrowed. REQUIRES: Start was not called.
  int descriptor() const { return socket_.get(); }

  // Starts accepting; see AcceptThread. Called once.
  void Start(std::function<void(UniqueFd)> on_connection);

 private:
  UnixListener(std::string path, UniqueFd socket, bool owns_file);

  const std::string path_;
  UniqueFd socket_;
  ino_t inode_ = 0;  // of the file that the destructor may remove; 0: none
  std::unique_ptr<AcceptThread> thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_UNIX_LISTENER_H_
