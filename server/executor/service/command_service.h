// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_SERVICE_H_
#define HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "server/executor/attach/attachment.h"
#include "server/executor/service/command_stream.h"
#include "server/executor/service/fd_receiver.h"
#include "server/executor/service/result_queue.h"
#include "server/executor/service/step_times.h"
#include "server/executor/session.h"

namespace holdfast::executor {

// CommandService of one session; that and the inbox must outlive it.
class CommandService final : public v1::CommandService::Service {
 public:
  CommandService(Session& session, FdReceiver& inbox, size_t max_batch_bytes)
      : session_(session), inbox_(inbox), max_batch_bytes_(max_batch_bytes) {}

  grpc::Status Run(grpc::ServerContext* context,
                   const v1::CommandBatch* request,
                   v1::ResultBatch* response) override;

  // The calling thread reads and queues batches, a second one writes results,
  // and the session's own thread carries the commands out in between.
  grpc::Status Execute(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::ResultBatch, v1::CommandBatch>* stream)
      override;

 private:
  // `clock` may be null.
  absl::Status ReadBatches(CommandStream& commands,
                           const std::shared_ptr<ResultQueue>& results,
                           const std::shared_ptr<ExecutorClock>& clock);
  // Execute for a client that may lose its connection, and has read so many
  // results.
  absl::Status ExecuteAttached(CommandStream& commands,
                               grpc::ServerContext& context,
                               uint64_t results_read);
  absl::Status ReadAttached(CommandStream& commands, uint64_t call);

  Session& session_;
  FdReceiver& inbox_;
  const size_t max_batch_bytes_;
  Attachment attachment_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_SERVICE_H_
