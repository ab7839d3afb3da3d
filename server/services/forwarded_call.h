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
#include <stop_token>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/relay/shared_blocks.h"
#include "server/relay/transfer_relay.h"
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
//   read -> waiting -> [relay] -> write -> drop, then read again
//
// The bytes of an upload are copied by a thread of ours, without a lock, while
// gRPC's read the next ones.
//
// gRPC calls the On... functions one at a time for each direction; mutex_
// guards both, since each looks at the other's end.
class ForwardedCall final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // With a direction, bytes go through memory that the executor shares.
  // `stall_guard`, which must outlive the call, gives up a client that does not
  // take what it is sent. `threads` is where a broken call waits to learn how
  // its executor ended, `copy_threads` where bytes are copied. Starts both
  // calls. `context` must not have been answered yet.
  ForwardedCall(grpc::CallbackServerContext* context, const std::string& method,
                std::shared_ptr<supervisor::Session> session,
                std::shared_ptr<grpc::Channel> executor,
                std::optional<RelayDirection> relayed, StallGuard& stall_guard,
                CallThreads& threads, CallThreads& copy_threads);

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
    struct Message {
      grpc::ByteBuffer buffer;
      size_t bytes = 0;      // as read, or kLeastCounted
      bool relayed = false;  // is what is to be written
    };

    // A read has ended.
    void Take(bool ok);
    // The first message that is not what is to be written; null: all are.
    Message* NextToRelay();
    // The first message has been written.
    void DropWritten();

    bool open = true;
    bool reading = false;
    bool writing = false;
    bool ended = false;  // no more will be read
    grpc::ByteBuffer incoming;
    // The first one is written while `writing`.
    std::deque<Message> waiting;
    size_t waiting_bytes = 0;
  };

  // Called before the call to the executor begins.
  void PassMetadataOn();
  // The next two start a read unless one is under way or too much waits.
  void ReadUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next two make of messages that have come what is to be written.
  void RelayUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False: the executor's message is none, and the call is given up.
  bool RelayDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has a thread copy what has come up; false: there is none.
  bool StartCopying() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // That thread's loop. The call may not exist any more afterwards.
  void CopyUp();
  // nullopt: the thread is to stop, and to let go of the call if it is not
  // `open` any more; if it is, others may end it from now on.
  std::optional<grpc::ByteBuffer> NextToCopy(bool* open);
  // The next two write the first message that waits, unless one is being
  // written, or end their direction.
  void WriteUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The direction's hold on the call to the executor is let go, once; if a
  // thread copies, by that.
  void Close(Flow& flow) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Explains a broken connection by the session's fault, for which it may have
  // to wait: then in a thread of `threads`.
  void FinishWith(const grpc::Status& status);

  grpc::CallbackServerContext& context_;
  const std::shared_ptr<supervisor::Session> session_;
  // For a transfer; null for all else.
  const std::shared_ptr<SharedBlocks> blocks_;
  const std::unique_ptr<UploadRelay> upload_;
  StallGuard& stall_guard_;
  CallThreads& threads_;
  CallThreads& copy_threads_;
  grpc::ClientContext upstream_context_;
  grpc::GenericStub stub_;
  Upstream upstream_;

  absl::Mutex mutex_;
  Flow up_ ABSL_GUARDED_BY(mutex_);
  Flow down_ ABSL_GUARDED_BY(mutex_);
  bool copying_ ABSL_GUARDED_BY(mutex_) = false;  // a thread does
  std::stop_source up_closed_;
  // While a message is on its way to the client.
  std::optional<StallGuard::Watch> watch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_FORWARDED_CALL_H_
