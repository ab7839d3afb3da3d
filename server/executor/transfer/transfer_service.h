// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_SERVICE_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_SERVICE_H_

#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
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

// The TransferService of one session; session and inbox must outlive it. Bytes
// travel in gRPC messages (stream_transfer.h) or, for remote clients, through
// the daemon's pipes (pipe_transfers.h). A call gets a thread with its first
// message; the call of a pipe gets one at once. Each transfer waits for a pass
// of the session's gate and holds it, so that the session is not suspended
// meanwhile.
class TransferService final : public grpc::Service {
 public:
  // The most concurrent calls; more are refused.
  static constexpr int kMaxTransfers = 256;

  // `stall_limit` is the longest time that a client may take for one message.
  TransferService(Session& session, FdReceiver& inbox,
                  absl::Duration stall_limit);

 private:
  // The method that carries out a call.
  using Work = absl::Status (TransferService::*)(ServedStream& call);

  // The time at which a call gets a thread.
  enum class Begin { kWithFirstMessage, kAtOnce };

  // Carries out a call on a thread.
  ServedStream* Serve(grpc::CallbackServerContext* context, Work work,
                      Begin begin);
  absl::Status Upload(ServedStream& call);
  absl::Status Download(ServedStream& call);
  absl::Status ServePipe(ServedStream& call);
  grpc::ServerUnaryReactor* RegisterArena(
      grpc::CallbackServerContext* context,
      const v1::RegisterArenaRequest* request,
      v1::RegisterArenaResponse* response);

  // Checks that the call is this session's and within the limit of calls.
  absl::StatusOr<std::shared_ptr<void>> Admit(
      const grpc::ServerContextBase& context);

  Session& session_;
  FdReceiver& inbox_;
  StallGuard stall_guard_;
  CallLimit transfers_{"transfers of one session", kMaxTransfers};
  UploadTries tries_;
  // Four times the calls: a thread outlives its call briefly, and one client
  // gets at most half (FairShare).
  CallThreads threads_{4 * kMaxTransfers};
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_SERVICE_H_
