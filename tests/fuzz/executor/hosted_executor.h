// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_EXECUTOR_HOSTED_EXECUTOR_H_
#define HOLDFAST_TESTS_FUZZ_EXECUTOR_HOSTED_EXECUTOR_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/executor/service/fd_receiver.h"
#include "server/executor/transfer/transfer_service.h"
#include "tests/fuzz/executor/hosted_session.h"

namespace holdfast::fuzz {

// A HostedSession with what clients of an executor reach beside commands: the
// socket that takes descriptors, and TransferService on a Unix socket.
class HostedExecutor {
 public:
  HostedExecutor();
  ~HostedExecutor();

  HostedSession& session() { return *session_; }
  // A connection of its own.
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  std::string descriptor_path() const { return directory_ + "/fds"; }

  // Adds the session's token.
  static void Authorize(grpc::ClientContext* context);

  // Ends server and session and returns an error if anything is left behind.
  absl::Status End();

 private:
  std::string directory_;
  std::unique_ptr<HostedSession> session_;
  std::unique_ptr<executor::FdReceiver> inbox_;
  std::unique_ptr<executor::TransferService> transfers_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_EXECUTOR_HOSTED_EXECUTOR_H_
