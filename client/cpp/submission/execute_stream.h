// SPDX-License-Identifier: Apache-2.0
//
// The Execute call of a session, which carries batches of commands and batches
// of results. They pass through rings of shared memory (core/base/ring_pair.h)
// if the executor is on this machine and accepts them; otherwise through gRPC.
// gRPC always reports the end of the call.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_EXECUTE_STREAM_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_EXECUTE_STREAM_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/connection/polled_call.h"
#include "client/cpp/submission/command_batch.h"
#include "core/base/ring_pair.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast {

// CommandQueue makes a stream, and another stream after a suspension or a
// fault. One thread at a time writes, and one reads; any thread may call Cancel
// and HasResults.
class ExecuteStream {
 public:
  struct Options {
    // The session's token, in hexadecimal digits.
    std::string session_token;
    // Rings that are offered to the executor, or null. The executor has
    // received their memory under `ring_token`, in hexadecimal digits.
    std::unique_ptr<RingPair> rings;
    std::string ring_token;
    // Asks all processes on the way for v1::StepTimes.
    bool step_times = false;
  };
  // kBatch: a batch was read. kEnd: no more batches will come; Finish returns
  // the reason.
  enum class ReadResult { kBatch, kWouldBlock, kEnd };

  // Starts the call. `channel` leads to the executor, or to a daemon that
  // forwards to it. With rings, waits until the executor has answered the
  // offer. RESOURCE_EXHAUSTED: the system allows no more threads.
  static absl::StatusOr<std::unique_ptr<ExecuteStream>> Open(
      std::shared_ptr<grpc::ChannelInterface> channel, Options options);
  // Cancels the call if it has not ended.
  ~ExecuteStream();

  // Returns true if messages use the rings, false if no rings were offered or
  // the executor has refused them. Also true if the call ended before the
  // executor's answer. Never changes.
  bool has_rings() const { return rings_ != nullptr; }

  // Sends a batch, which then goes back to `pool`. Waits while the executor
  // does not keep up. Returns false if the call has ended. REQUIRES: one thread
  // at a time.
  bool Write(CommandBatchPool& pool, std::unique_ptr<CommandBatch> batch);
  // Sends the bytes of a batch, which are copied.
  bool Write(absl::string_view batch);
  // With rings, returns the written batches that the executor has not read.
  // REQUIRES: the call has ended, and no thread writes.
  std::vector<std::string> Unread() const;

  // Returns true if results have arrived that were not read. Any thread.
  bool HasResults() const {
    return has_rings() ? rings_->reader().Ready() : call_->HasMessage();
  }
  // Returns true if no more results will arrive. Any thread.
  bool HasEnded() const {
    return has_rings() ? rings_->reader().closed() : call_->HasEnded();
  }
  // Sleeps until results arrive or the call ends, for some seconds at most.
  // Does not poll first. Other threads may read meanwhile. REQUIRES: one thread
  // at a time.
  void Sleep();
  // Reads a batch, without waiting. kWouldBlock: there is no complete batch.
  // REQUIRES: one thread at a time.
  ReadResult Read(v1::ResultBatch* results);

  // Cancels the call. Any thread may call it.
  void Cancel();
  // Returns the status of the call. Blocks until the call has ended. Called
  // once, after Read has returned kEnd.
  absl::Status Finish();

 private:
  using Call = PolledCall<grpc::ByteBuffer, v1::ResultBatch>;

  ExecuteStream() = default;
  // Waits for the executor's answer to the offer, and uses the rings if it has
  // accepted them.
  absl::Status TakeRings(std::unique_ptr<RingPair> rings);
  // Waits for the end of a call with rings, and closes the rings then, so that
  // threads that wait on them return.
  void AwaitEnd();
  // A batch that cannot be read ends the call with DATA_LOSS.
  ReadResult ReadRing(v1::ResultBatch* results);

  grpc::ClientContext context_;
  std::unique_ptr<RingPair> rings_;
  std::unique_ptr<Call> call_;  // null: the rings lead to a relay
  std::thread end_;
  absl::Status broken_;  // the error of the rings' messages
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_EXECUTE_STREAM_H_
