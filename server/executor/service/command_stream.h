// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_STREAM_H_
#define HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "absl/status/statusor.h"
#include "core/base/ring_pair.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/service/batch_pool.h"
#include "server/executor/service/fd_receiver.h"
#include "server/executor/session/session_gate.h"
#include "server/rpc/served_stream.h"

namespace holdfast::executor {

// One Execute call: batches of commands from the client, batches of results to
// it; through the rings that the client has handed over, or through gRPC.
class CommandStream final : public ServedStream {
 public:
  explicit CommandStream(grpc::CallbackServerContext& context)
      : ServedStream(context, /*stall_guard=*/nullptr) {}

  // Tells the client that the call is served, and whether by rings. Once,
  // before all that follows.
  void Accept(FdReceiver& inbox, size_t max_batch_bytes);
  // With rings, asks a client that has not ended the call to do so, and cancels
  // the call of one that does not. Last.
  void AskForEnd();

  // Waits for a batch, and for a pass to take it in; false: the client sends no
  // more, or has gone, or the gate has ended. A batch that gets no pass stays
  // in the ring. One thread at a time. INVALID_ARGUMENT, DATA_LOSS: what came
  // is none.
  absl::StatusOr<bool> ReadBatch(DecodedBatch* batch, SessionGate& gate,
                                 SessionGate::Pass* pass);

  // Has something come that ReadBatch has not returned? As ReadBatch.
  bool HasMore() const {
    return has_rings() ? rings_->reader().Ready() : Readable();
  }

  // Waits while the client does not take results; false: the client has gone.
  // One thread at a time.
  bool WriteResults(const v1::ResultBatch& results);

  // Sends a small batch if it need not wait for that. As WriteResults, by one
  // thread at a time.
  bool WriteNow(const v1::ResultBatch& results);

  // Do messages take rings? Then what ReadBatch says of a client that has
  // broken the rules is to be sent as a result, number 0; otherwise it is the
  // call's status.
  bool has_rings() const { return rings_ != nullptr; }

  // With rings, gRPC tells of the call's end, and of nothing else.
  void OnReadDone(bool ok) override;

 private:
  absl::StatusOr<bool> ReadFromRing(DecodedBatch* batch, SessionGate& gate,
                                    SessionGate::Pass* pass);

  std::unique_ptr<RingPair> rings_;
  // When the client is gone.
  std::optional<std::stop_callback<std::function<void()>>> close_rings_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_STREAM_H_
