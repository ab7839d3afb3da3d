// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_ACCEPT_THREAD_H_
#define HOLDFAST_SERVER_RPC_ACCEPT_THREAD_H_

#include <functional>
#include <string>
#include <thread>

#include "core/base/unique_fd.h"

namespace holdfast {

// Accepts the connections of one listening socket, in place of gRPC, so that
// the daemon knows each client before its first byte, can refuse connections
// over the limit, and can end a connection.
class AcceptThread {
 public:
  // The object's own thread calls `on_connection` with each connection,
  // non-blocking and close-on-exec. `address` names the socket in the log.
  AcceptThread(UniqueFd socket, std::string address,
               std::function<void(UniqueFd)> on_connection);

  // Ends the thread and closes the socket. Another process with the socket
  // continues to listen.
  ~AcceptThread();
  AcceptThread(const AcceptThread&) = delete;
  AcceptThread& operator=(const AcceptThread&) = delete;

 private:
  void Run();

  const UniqueFd socket_;
  const UniqueFd stop_;  // an eventfd
  const std::string address_;
  const std::function<void(UniqueFd)> on_connection_;
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_ACCEPT_THREAD_H_
