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
// are passed on. All kinds of calls are handled as streams. Deletes itself when
// both sides are done.
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
  // Starts both calls. `stall_guard` cancels a call whose client does not take
  // a message; it must outlive the call. A broken call waits in `threads` to
  // learn how its executor ended. REQUIRES: `context` was not answered yet.
  ForwardedCall(grpc::CallbackServerContext* context, const std::string& method,
                std::shared_ptr<supervisor::Session> session,
                StallGuard& stall_guard, CallThreads& threads);

  // A message from the client has arrived. At the last one, half-closes the
  // executor's stream.
  void OnReadDone(bool ok) override;
  // A message to the client was sent. Cancels the call if that failed.
  void OnWriteDone(bool ok) override;
  void OnCancel() override { upstream_context_.TryCancel(); }
  void OnDone() override { delete this; }

 private:
  // The client side of the call to the executor. An open direction holds the
  // call, so that the call's end does not overtake a message.
  class Upstream final
      : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Upstream(ForwardedCall& call) : call_(call) {}
    // A message to the executor was sent.
    void OnWriteDone(bool ok) override;
    // A message from the executor has arrived. After the last one, the status
    // follows.
    void OnReadDone(bool ok) override;
    // The call to the executor has ended. Sends the client its status and
    // trailers.
    void OnDone(const grpc::Status& status) override;

   private:
    ForwardedCall& call_;
  };

  // The state of one direction.
  struct Flow {
    // Another message is read while fewer bytes wait.
    static constexpr size_t kMaxWaitingBytes = size_t{2} << 20;
    // A smaller message counts as so many bytes, because even an empty one
    // takes memory.
    static constexpr size_t kLeastCounted = size_t{4} << 10;

    // Returns true if another message may be read.
    bool MayRead() const {
      return open && !reading && waiting_bytes < kMaxWaitingBytes;
    }
    // Returns the bytes that a message counts as.
    static size_t CountedBytes(const grpc::ByteBuffer& message);

    // A read has ended.
    void Take(bool ok);
    // The first message has been written.
    void DropWritten();

    bool open = true;
    bool reading = false;
    bool writing = false;
    bool ended = false;  // no more will be read
    grpc::ByteBuffer incoming;
    // The first message is being written while `writing`.
    std::deque<grpc::ByteBuffer> waiting;
    size_t waiting_bytes = 0;
  };

  // ReadUp and ReadDown start a read, unless one is running or too much waits.
  void ReadUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // WriteUp and WriteDown write the first waiting message unless one is being
  // written, or end their direction.
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
  // While a message is on its way to the client.
  std::optional<StallGuard::Watch> watch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_FORWARDED_CALL_H_
