// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_FORWARDED_CALL_H_
#define HOLDFAST_SERVER_SERVICES_FORWARDED_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/stall_guard.h"
#include "server/supervisor/session.h"

namespace holdfast {

// Forwards one call of a remote client to its session's executor, byte for
// byte. There are two directions: "up" to the executor and "down" from it. Each
// direction reads ahead by a bounded number of bytes, so that a slow reader
// slows down only its own writer. Cancellation, deadline, status and trailers
// are forwarded. Unary calls are handled as streams, too. The object deletes
// itself when the calls of client and executor have ended.
//
// Each direction goes through the same steps:
//
//   read -> waiting -> write -> drop, then read again
//
// gRPC calls the On... functions one at a time for each direction. mutex_
// guards both directions, because each checks the end of the other.
class ForwardedCall final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // Starts reading from the client, and the call `method` to the executor.
  // `stall_guard` cancels the call if the client does not take a message. If
  // the connection to the executor breaks, the call waits in one of `threads`
  // to find out how the executor ended. `stall_guard` and `threads` must
  // outlive the call. REQUIRES: `context` was not answered yet.
  ForwardedCall(grpc::CallbackServerContext* context, const std::string& method,
                std::shared_ptr<supervisor::Session> session,
                StallGuard& stall_guard, CallThreads& threads);

  // Handles a message from the client. After the last message, half-closes the
  // stream to the executor.
  void OnReadDone(bool ok) override;
  // Runs when a message to the client was sent. Cancels the call if sending
  // failed.
  void OnWriteDone(bool ok) override;
  void OnCancel() override { upstream_context_.TryCancel(); }
  void OnDone() override { delete this; }

 private:
  // The client side of the call to the executor. Each open direction has a hold
  // on the call (as of grpc::ClientBidiReactor::AddHold), so that the call's
  // end does not overtake a message.
  class Upstream final
      : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Upstream(ForwardedCall& call) : call_(call) {}
    // Runs when a message to the executor was sent.
    void OnWriteDone(bool ok) override;
    // Handles a message from the executor. After the last message, OnDone
    // follows.
    void OnReadDone(bool ok) override;
    // Runs when the call to the executor has ended. Sends its status and
    // trailers to the client.
    void OnDone(const grpc::Status& status) override;

   private:
    ForwardedCall& call_;
  };

  // The state of one direction.
  struct Flow {
    // Another message is read while fewer bytes wait.
    static constexpr size_t kMaxWaitingBytes = size_t{2} << 20;
    // The bytes that a smaller message counts as, because even an empty message
    // takes memory.
    static constexpr size_t kLeastCounted = size_t{4} << 10;

    // Returns true if another message may be read.
    bool MayRead() const {
      return open && !reading && waiting_bytes < kMaxWaitingBytes;
    }
    // Returns the bytes that a message counts as.
    static size_t CountedBytes(const grpc::ByteBuffer& message);

    // Takes the message of a read that has ended; `ok` is false at the end.
    void Take(bool ok);
    // Drops the first message, which has been written.
    void DropWritten();

    bool open = true;
    bool reading = false;
    bool writing = false;
    bool ended = false;  // no more messages will be read
    grpc::ByteBuffer incoming;
    // The first message is being written while `writing`.
    std::deque<grpc::ByteBuffer> waiting;
    size_t waiting_bytes = 0;
  };

  // ReadUp and ReadDown start a read, unless a read is running or too many
  // bytes wait.
  void ReadUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // WriteUp and WriteDown write the first waiting message unless a message is
  // being written. If no message waits and none will come, they end their
  // direction.
  void WriteUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Releases the direction's hold on the call to the executor, once.
  void Close(Flow& flow) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Finishes the client's call. Replaces the status of a broken connection by
  // the session's fault, for which it waits in one of `threads`.
  void FinishWith(const grpc::Status& status);

  grpc::CallbackServerContext& context_;
  const std::shared_ptr<supervisor::Session> session_;
  StallGuard& stall_guard_;
  CallThreads& threads_;
  grpc::ClientContext upstream_context_;
  grpc::GenericStub stub_;
  Upstream upstream_;

  absl::Mutex mutex_;
  Flow up_ ABSL_GUARDED_BY(mutex_);
  Flow down_ ABSL_GUARDED_BY(mutex_);
  // Set while a message is being sent to the client.
  std::optional<StallGuard::Watch> watch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_FORWARDED_CALL_H_
