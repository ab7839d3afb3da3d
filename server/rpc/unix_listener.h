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

// A listening Unix socket. The file has its mode before a client can connect.
//
// RpcServer has one for each Unix endpoint. Start hands accepted connections
// over and ends with the object.
class UnixListener {
 public:
  // Makes the file; a file that is left from a dead daemon is replaced.
  // ALREADY_EXISTS: a daemon answers there, or the path is no socket. A failure
  // names the path. The path is at most kMaxSocketPathBytes long.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Listen(
      const std::string& path, mode_t mode);

  // Takes a socket over that the service manager listens on at `path`, and that
  // it keeps when this process ends; the file is never removed.
  // FAILED_PRECONDITION: the file's mode is not `mode`.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Adopt(
      const std::string& path, UniqueFd socket, mode_t mode);

  // Takes over the socket of the daemon before this one, and its file. `socket`
  // listens at `path` already. The file is removed at the end.
  static std::unique_ptr<UnixListener> TakeOver(const std::string& path,
                                                UniqueFd socket);

  // Ends the thread and closes the socket; removes the file that Listen made.
  ~UnixListener();

  const std::string& path() const { return path_; }
  // Else the file is the service manager's. Tells which files are kept for the
  // next daemon as its own.
  bool owns_file() const { return inode_ != 0; }
  // Until Start. Listening. It stays the listener's.
  int descriptor() const { return socket_.get(); }

  // Starts accepting; see AcceptThread. Once. Connections are handed over by
  // the thread, one at a time.
  void Start(std::function<void(UniqueFd)> on_connection);

 private:
  UnixListener(std::string path, UniqueFd socket, bool owns_file);

  const std::string path_;
  UniqueFd socket_;
  ino_t inode_ = 0;  // to remove no file but ours; 0: none is
  std::unique_ptr<AcceptThread> thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_UNIX_LISTENER_H_
