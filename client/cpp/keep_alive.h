// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_KEEP_ALIVE_H_
#define HOLDFAST_CLIENT_CPP_KEEP_ALIVE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

namespace holdfast {

// Holds the stream open that keeps a session alive. When this process dies the
// stream breaks, and the daemon frees the session. It has a connection of its
// own: of the threads that wait for messages of one connection, gRPC has one
// read them all and wake up the others, and this one waits all the time.
class KeepAlive {
 public:
  using Connect =
      std::function<absl::StatusOr<std::shared_ptr<grpc::Channel>>()>;

  // `ended` is called at most once, from a thread of this object, when the
  // daemon ends the session; not after the destructor has begun.
  KeepAlive(Connect connect, const std::string& token,
            std::function<void(const std::string& reason)> ended);
  ~KeepAlive();

 private:
  void Run();
  // Until the stream ends, which is when the daemon has gone.
  grpc::Status Read(const std::shared_ptr<grpc::Channel>& channel);

  const Connect connect_;
  std::atomic<bool> closing_ = false;
  const std::function<void(const std::string&)> ended_;
  grpc::ClientContext context_;
  std::thread reader_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_KEEP_ALIVE_H_
