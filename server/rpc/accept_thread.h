// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_ACCEPT_THREAD_H_
#define HOLDFAST_SERVER_RPC_ACCEPT_THREAD_H_

#include <functional>
#include <string>
#include <thread>

#include "core/base/unique_fd.h"

namespace holdfast {

// Accepts the connections of one listening socket. The daemon does that itself
// and hands them to gRPC, so that it knows each client before its first byte,
// refuses connections that are too many, and can end one.
class AcceptThread {
 public:
  // Each connection, non-blocking and close-on-exec, goes to `on_connection` in
  // the object's own thread. `address` names the socket in the log.
  AcceptThread(UniqueFd socket, std::string address,
               std::function<void(UniqueFd)> on_connection);

  // Ends the thread and closes the socket; another process that has the socket
  // goes on listening.
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
