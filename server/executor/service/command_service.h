// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_SERVICE_H_
#define HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_SERVICE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "server/executor/attach/attachment.h"
#include "server/executor/service/command_stream.h"
#include "server/executor/service/fd_receiver.h"
#include "server/executor/session/session.h"
#include "server/executor/submission/result_queue.h"
#include "server/executor/submission/step_times.h"
#include "server/rpc/call_limit.h"
#include "server/rpc/call_threads.h"

namespace holdfast::executor {

// The CommandService of one session. Calls never block gRPC's threads: they run
// on threads of this object, and Run and Execute have separate pools.
class CommandService final
    : public v1::CommandService::WithCallbackMethod_Run<
          v1::CommandService::WithRawCallbackMethod_Execute<
              v1::CommandService::Service>> {
 public:
  // The most concurrent calls of Run; more are refused.
  static constexpr int kMaxRuns = 256;
  static constexpr int kMaxExecutes = 64;

  // `max_batch_bytes` is the limit of one message in a client's rings.
  // REQUIRES: `session` and `inbox` outlive this object.
  CommandService(Session& session, FdReceiver& inbox, size_t max_batch_bytes);
  ~CommandService() override;

  grpc::ServerUnaryReactor* Run(grpc::CallbackServerContext* context,
                                const v1::CommandBatch* request,
                                v1::ResultBatch* response) override;

  // Serves the call with two threads. One reads batches, and either runs them
  // itself or queues them for the session's thread. The other writes results.
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Execute(
      grpc::CallbackServerContext* context) override;

 private:
  // Checks that the call carries the session's token, and counts it until the
  // result is destroyed. Fails as Session::Authenticate. RESOURCE_EXHAUSTED:
  // there are too many calls.
  absl::StatusOr<std::shared_ptr<void>> Admit(
      const grpc::ServerContextBase& context, CallLimit& limit);
  absl::Status RunBatch(const v1::CommandBatch& request,
                        const std::stop_token& cancelled,
                        v1::ResultBatch* response);
  absl::Status ServeExecute(CommandStream& commands);
  // Serves Execute for a client without a reconnect grace.
  absl::Status ExecuteOnce(CommandStream& commands);
  // Reads batches and submits them until the client sends no more. `clock` may
  // be null.
  absl::Status ReadBatches(CommandStream& commands,
                           const std::shared_ptr<ResultQueue>& results,
                           const std::shared_ptr<ExecutorClock>& clock);
  // Serves Execute for a client that may return after its connection has
  // broken, and has read `results_read` results.
  absl::Status ExecuteAttached(CommandStream& commands, uint64_t results_read);
  absl::Status ReadAttached(CommandStream& commands, uint64_t call);
  // Runs `read` on this thread and `write` on another, and blocks until both
  // have ended. Returns the result of `read`.
  absl::Status ReadAndWrite(const std::function<absl::Status()>& read,
                            const std::function<void()>& write);

  Session& session_;
  FdReceiver& inbox_;
  const size_t max_batch_bytes_;
  Attachment attachment_;
  CallLimit runs_{"calls of Run of one session", kMaxRuns};
  CallLimit executes_{"calls of Execute of one session", kMaxExecutes};
  // There are four threads for each call, because a thread outlives its call
  // briefly, and one client gets at most half of the threads (FairShare). An
  // Execute takes two threads.
  CallThreads run_threads_{4 * kMaxRuns};
  CallThreads execute_threads_{2 * 4 * kMaxExecutes};
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_SERVICE_H_
