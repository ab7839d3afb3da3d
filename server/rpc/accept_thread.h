// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_ACCEPT_THREAD_H_
#define HOLDFAST_SERVER_RPC_ACCEPT_THREAD_H_

#include <functional>
#include <string>
#include <thread>

#include "core/base/unique_fd.h"

namespace holdfast {

// Accepts the connections of one listening socket on a thread of its own, in
// place of gRPC. The daemon can therefore identify each client before its first
// byte, refuse connections over the limit, and close a connection.
class AcceptThread {
 public:
  // Starts the thread, which calls `on_connection` with each connection,
  // non-blocking and close-on-exec. `socket` is a listening socket. `address`
  // names it in the log.
  AcceptThread(UniqueFd socket, std::string address,
               std::function<void(UniqueFd)> on_connection);

  // Ends the thread and closes the socket. If another process has the socket
  // too, that process continues to listen.
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
