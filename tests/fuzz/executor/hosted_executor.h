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

// A HostedSession, and the other interfaces of an executor to its clients: the
// socket that receives descriptors, and TransferService on a Unix socket.
class HostedExecutor {
 public:
  HostedExecutor();
  ~HostedExecutor();

  HostedSession& session() { return *session_; }
  // A channel to TransferService.
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  std::string descriptor_path() const { return directory_ + "/fds"; }

  // Adds the session's token to a call.
  static void Authorize(grpc::ClientContext* context);

  // Ends the server and the session. Fails as HostedSession::End.
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
