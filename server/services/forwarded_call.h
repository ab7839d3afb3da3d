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

// One call of a remote client, passed on to its session's executor byte for
// byte. Two directions, "up" to the executor and "down" from it, each of which
// reads ahead of what it writes by a bounded number of bytes, so that a slow
// reader slows down only its own writer. Cancellation, deadline, status and
// trailers are passed on. Every shape of call is a stream to it. Deletes itself
// when both sides are done.
//
// Each direction goes through the same steps:
//
//   read -> waiting -> write -> drop, then read again
//
// gRPC calls the On... functions one at a time for each direction; mutex_
// guards both, since each looks at the other's end.
class ForwardedCall final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // `stall_guard`, which must outlive the call, gives up a client that does not
  // take what it is sent. `threads` is where a broken call waits to learn how
  // its executor ended. Starts both calls. `context` must not have been
  // answered yet.
  ForwardedCall(grpc::CallbackServerContext* context, const std::string& method,
                std::shared_ptr<supervisor::Session> session,
                StallGuard& stall_guard, CallThreads& threads);

  // A message from the client is there; at their end the executor's stream is
  // half closed.
  void OnReadDone(bool ok) override;
  // A message to the client is sent; gives up the call if it failed.
  void OnWriteDone(bool ok) override;
  void OnCancel() override { upstream_context_.TryCancel(); }
  void OnDone() override { delete this; }

 private:
  // The client's side of the call to the executor. While a direction is open
  // it holds the call, so that its end does not overtake a message.
  class Upstream final
      : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Upstream(ForwardedCall& call) : call_(call) {}
    // A message to the executor is sent.
    void OnWriteDone(bool ok) override;
    // A message from the executor is there; at their end its status is there,
    // or comes.
    void OnReadDone(bool ok) override;
    // The call to the executor has ended: the client gets its status and
    // trailers.
    void OnDone(const grpc::Status& status) override;

   private:
    ForwardedCall& call_;
  };

  // The state of one direction.
  struct Flow {
    // As much may wait, and one message more.
    static constexpr size_t kMaxWaitingBytes = size_t{2} << 20;
    // As so many bytes counts a message with fewer: one with none takes memory,
    // too.
    static constexpr size_t kLeastCounted = size_t{4} << 10;

    // May another message be read?
    bool MayRead() const {
      return open && !reading && waiting_bytes < kMaxWaitingBytes;
    }
    // As so many bytes counts a message.
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
    // The first one is written while `writing`.
    std::deque<grpc::ByteBuffer> waiting;
    size_t waiting_bytes = 0;
  };

  // The next two start a read unless one is under way or too much waits.
  void ReadUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next two write the first message that waits, unless one is being
  // written, or end their direction.
  void WriteUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The direction's hold on the call to the executor is let go, once.
  void Close(Flow& flow) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Explains a broken connection by the session's fault, for which it may have
  // to wait: then in a thread of `threads`.
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
