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

// One Execute call: batches of commands from the client, and batches of results
// to it, through the client's shared rings or through gRPC.
class CommandStream final : public ServedStream {
 public:
  explicit CommandStream(grpc::CallbackServerContext& context)
      : ServedStream(context, /*stall_guard=*/nullptr) {}

  // Accepts the call: claims the client's rings from `inbox`, if the client
  // offers any, and sends the initial metadata, which say whether the call uses
  // rings. REQUIRES: called once, before the other methods.
  void Accept(FdReceiver& inbox, size_t max_batch_bytes);
  // With rings, requests that the client end the call, and cancels the call if
  // the client has not ended it after 1 s. REQUIRES: called last.
  void AskForEnd();

  // Blocks until a batch has come and the thread has a pass of the gate, and
  // sets `batch` and `pass`. Returns false if the client sends no more batches
  // or has gone, or if the gate has ended. A message in the ring stays there
  // until the thread has the pass. INVALID_ARGUMENT, DATA_LOSS: the message is
  // not a batch. REQUIRES: one thread at a time.
  absl::StatusOr<bool> ReadBatch(DecodedBatch* batch, SessionGate& gate,
                                 SessionGate::Pass* pass);

  // Returns true if a message has arrived that ReadBatch has not returned.
  // REQUIRES: as ReadBatch.
  bool HasMore() const {
    return has_rings() ? rings_->reader().Ready() : Readable();
  }

  // Sends results, and blocks while the client does not take them. Returns
  // false if the client has gone. REQUIRES: one thread at a time.
  bool WriteResults(const v1::ResultBatch& results);

  // Sends results if they are at most 2 KiB and can be sent without blocking.
  // Returns false if they were not sent. REQUIRES: as WriteResults.
  bool WriteNow(const v1::ResultBatch& results);

  // Returns true if messages use rings. The caller then sends an error of
  // ReadBatch as a result with number 0; without rings the error is the call's
  // status.
  bool has_rings() const { return rings_ != nullptr; }

  // Handles a gRPC message, or the end of the client's messages. With rings,
  // ignores messages.
  void OnReadDone(bool ok) override;

 private:
  absl::StatusOr<bool> ReadFromRing(DecodedBatch* batch, SessionGate& gate,
                                    SessionGate::Pass* pass);

  std::unique_ptr<RingPair> rings_;
  // Closes the rings when the call is cancelled.
  std::optional<std::stop_callback<std::function<void()>>> close_rings_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SERVICE_COMMAND_STREAM_H_
