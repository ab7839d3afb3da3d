// SPDX-License-Identifier: Apache-2.0
//
// The Execute call of a session: batches of commands out, batches of results
// in. Where the executor is on this machine and takes them, through rings of
// shared memory (core/base/ring_pair.h); otherwise through gRPC. The call's end
// is always gRPC's.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_EXECUTE_STREAM_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_EXECUTE_STREAM_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cpp/connection/polled_call.h"
#include "client/cpp/submission/command_batch.h"
#include "core/base/ring_pair.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast {

// CommandQueue makes one, and another after a suspension or a fault. One thread
// writes, one reads; Cancel and HasResults are for any.
class ExecuteStream {
 public:
  struct Options {
    // The session's, in hexadecimal digits.
    std::string session_token;
    // Offered to the executor, whom they have been sent to under this token, in
    // hexadecimal digits; or null.
    std::unique_ptr<RingPair> rings;
    std::string ring_token;
    // Asks the processes on the way for v1::StepTimes.
    bool step_times = false;
  };
  // kBatch: one was read; kEnd: none will come any more, and Finish tells why.
  enum class ReadResult { kBatch, kWouldBlock, kEnd };

  // `channel` leads to the executor, or to a daemon that forwards to it. With
  // rings, waits until the executor has answered the offer.
  ExecuteStream(std::shared_ptr<grpc::ChannelInterface> channel,
                Options options);
  // After Finish.
  ~ExecuteStream();

  // Do messages take the rings? Not if the executor has no use for them; they
  // do if the call ended before it could say so. Does not change.
  bool has_rings() const { return rings_ != nullptr; }

  // Waits while the executor does not keep up. False: the call has ended. One
  // thread at a time.
  bool Write(CommandBatchPool& pool, std::unique_ptr<CommandBatch> batch);
  // The same for a batch that stays the caller's.
  bool Write(absl::string_view batch);
  // With rings: batches that were written and that the executor has not taken.
  // REQUIRES: the call has ended, and nobody writes.
  std::vector<std::string> Unread() const;

  // Has anything come that was not read? Any thread.
  bool HasResults() const {
    return has_rings() ? rings_->reader().Ready() : call_->HasMessage();
  }
  // Will nothing more come than what has? Any thread.
  bool HasEnded() const {
    return has_rings() ? rings_->reader().closed() : call_->HasEnded();
  }
  // Sleeps until something has come or the call has ended, for some seconds at
  // most. The thread has to be woken by the one that brings it. One thread at a
  // time, and while others read.
  void Sleep();
  // Does not wait; kWouldBlock: no batch is there as a whole. One thread at a
  // time.
  ReadResult Read(v1::ResultBatch* results);

  // Ends the call. Any thread.
  void Cancel();
  // Why the call has ended, once Read has told that. Blocks until the call has
  // ended. Once.
  absl::Status Finish();

 private:
  using Call = PolledCall<grpc::ByteBuffer, v1::ResultBatch>;

  // Waits for the end of a call whose messages take the rings. Closes the rings
  // when the call ends, so that threads that wait there see it.
  void AwaitEnd();
  // A batch that cannot be read ends the call with DATA_LOSS.
  ReadResult ReadRing(v1::ResultBatch* results);

  grpc::ClientContext context_;
  std::unique_ptr<RingPair> rings_;
  std::unique_ptr<Call> call_;  // null: the rings lead to a relay
  std::thread end_;
  absl::Status
      broken_;  // what came through the rings, if Read could not use it
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_EXECUTE_STREAM_H_
