// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_STREAM_H_
#define HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_STREAM_H_

#include <cstddef>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "core/base/ring_pair.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/sync_stream.h"
#include "holdfast/v1/commands.grpc.pb.h"  // how messages are parsed
#include "server/executor/service/fd_receiver.h"
#include "server/executor/session_gate.h"

namespace holdfast::executor {

// One Execute call: batches of commands from the client, batches of results to
// it; through the rings that the client has handed over, or through gRPC.
class CommandStream {
 public:
  using Grpc = grpc::ServerReaderWriter<v1::ResultBatch, v1::CommandBatch>;

  // Tells the client that the call is served, and whether by rings. All must
  // outlive it.
  CommandStream(grpc::ServerContext& context, Grpc& grpc, FdReceiver& inbox,
                size_t max_batch_bytes);
  // With rings, asks a client that has not ended the call to do so, and cancels
  // the call of one that does not.
  ~CommandStream();
  CommandStream(const CommandStream&) = delete;
  CommandStream& operator=(const CommandStream&) = delete;

  // Waits for a batch, and for a pass to take it in; false: the client sends no
  // more, or has gone, or the gate has ended. A batch that gets no pass stays
  // in the ring. One thread at a time. INVALID_ARGUMENT, DATA_LOSS: what came
  // is none.
  absl::StatusOr<bool> Read(v1::CommandBatch* batch, SessionGate& gate,
                            SessionGate::Pass* pass);

  // Waits while the client does not take results; false: the client has gone.
  // One thread at a time.
  bool Write(const v1::ResultBatch& results);

  // With rings: sends a small batch if it need not wait for that. As Write, by
  // one thread at a time.
  bool WriteNow(const v1::ResultBatch& results);

  // Do messages take rings? Then what Read says of a client that has broken the
  // rules is to be sent as a result, number 0; otherwise it is the call's
  // status.
  bool has_rings() const { return rings_ != nullptr; }

 private:
  // Waits for the end of a call whose messages take the rings.
  void AwaitEnd();
  void AskForEnd();

  grpc::ServerContext& context_;
  Grpc& grpc_;
  std::unique_ptr<RingPair> rings_;
  absl::Notification half_closed_;  // by the client, or it has gone
  absl::Notification finished_;
  std::thread end_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_STREAM_H_
