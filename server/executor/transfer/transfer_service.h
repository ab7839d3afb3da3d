// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_SERVICE_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_SERVICE_H_

#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "server/executor/attach/upload_tries.h"
#include "server/executor/service/fd_receiver.h"
#include "server/executor/session/session.h"
#include "server/rpc/call_limit.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/served_stream.h"
#include "server/rpc/stall_guard.h"

namespace holdfast::executor {

// The TransferService of one session. Serves the daemon's pipes, which carry
// the transfers of remote clients (pipe_transfers.h), and registers arenas.
// Refuses Upload and Download, because a client that can reach the executor
// sends bytes with commands or through arenas.
class TransferService final : public grpc::Service {
 public:
  // The most concurrent calls; more are refused.
  static constexpr int kMaxCalls = 256;

  // `stall_limit` is the longest time that a client may take for one message.
  // REQUIRES: `session` and `inbox` outlive this object.
  TransferService(Session& session, FdReceiver& inbox,
                  absl::Duration stall_limit);

 private:
  using Start = std::function<ServedStream*(grpc::CallbackServerContext*)>;

  // Adds the method with this index. Its messages are not parsed.
  void AddStream(int index, const char* method, Start start);
  // Serves a pipe on a thread.
  ServedStream* StartPipe(grpc::CallbackServerContext* context);
  absl::Status ServePipe(ServedStream& call);
  grpc::ServerUnaryReactor* RegisterArena(
      grpc::CallbackServerContext* context,
      const v1::RegisterArenaRequest* request,
      v1::RegisterArenaResponse* response);

  // Checks that the call carries the session's token, and counts it until the
  // result is destroyed. Fails as Session::Authenticate. RESOURCE_EXHAUSTED:
  // there are too many calls.
  absl::StatusOr<std::shared_ptr<void>> Admit(
      const grpc::ServerContextBase& context);

  Session& session_;
  FdReceiver& inbox_;
  StallGuard stall_guard_;
  CallLimit calls_{"pipes and registrations of arenas of one session",
                   kMaxCalls};
  UploadTries tries_;
  // There are four threads for each call, because a thread outlives its call
  // briefly, and one client gets at most half of the threads (FairShare).
  CallThreads threads_{4 * kMaxCalls};
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_SERVICE_H_
