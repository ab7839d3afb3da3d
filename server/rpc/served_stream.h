// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_SERVED_STREAM_H_
#define HOLDFAST_SERVER_RPC_SERVED_STREAM_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/cancellable.h"
#include "server/rpc/stall_guard.h"

namespace holdfast {

// A call whose messages are raw bytes. One of the daemon's threads serves the
// call, and may block. gRPC's threads only move messages, and read up to
// kMaxAhead messages ahead. Unary calls are handled as streams, too. The object
// deletes itself at the end of the call.
//
//   auto* const call = new ServedStream(*context, &stall_guard_);
//   call->ServeMessages(threads_, [this, call] { return Upload(*call); });
//   return call;
class ServedStream
    : public Cancellable<
          grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>> {
 public:
  // The most messages that are read ahead. The two messages of a short call
  // arrive while the thread is being woken.
  static constexpr size_t kMaxAhead = 2;
  // Reading ahead stops when this number of bytes was read and not served yet,
  // because a client may have many calls.
  static constexpr size_t kMaxAheadBytes = size_t{256} << 10;

  // `stall_guard` must outlive the call. It cancels the call if, within the
  // guard's limit, the client does not send a message that Read waits for, or
  // does not take a message. Null: no time limit.
  ServedStream(grpc::CallbackServerContext& context, StallGuard* stall_guard,
               size_t max_ahead_bytes = kMaxAheadBytes)
      : context_(context),
        stall_guard_(stall_guard),
        max_ahead_bytes_(max_ahead_bytes) {}

  // Runs `serve` in one of `threads`, within `client`'s share, and ends the
  // call with the status that `serve` returns. Ends it with RESOURCE_EXHAUSTED
  // if there is no thread for the client.
  void Serve(CallThreads& threads, std::function<absl::Status()> serve,
             const std::string& client = "");
  // Like Serve, but begins to read, and runs `serve` only once the first
  // message or the end of messages has arrived, so that a silent client holds
  // no thread. REQUIRES: a stall guard.
  void ServeMessages(CallThreads& threads, std::function<absl::Status()> serve,
                     const std::string& client = "");
  // Ends the call. For calls without Serve or ServeMessages.
  void End(const absl::Status& status);

  grpc::CallbackServerContext& context() { return context_; }

  // Begins to read if ServeMessages was not called. Called once, before Read.
  void ReadAhead();
  // Blocks until the client's next message is there. Returns false if the
  // client sends no more messages or has gone. REQUIRES: one thread at a time.
  bool Read(grpc::ByteBuffer* message);
  // Returns true if Read would not block. Any thread may call it.
  bool Readable() const { return readable_; }
  // Makes a thread of gRPC call `tell` whenever Readable may have become true:
  // after each message, and at the end of messages. `tell` runs under a lock,
  // and must not call this object except Readable(). Null removes `tell`.
  void TellReadable(std::function<void()> tell);

  // Blocks until the previous message is written, and begins to write this one.
  // Returns false if the client has gone.
  bool Write(grpc::ByteBuffer message);
  // Begins to write a message, without blocking. Returns false if Write would
  // block or the client has gone.
  bool TryWrite(grpc::ByteBuffer message);
  // Blocks until the previous message is written. Returns false if the client
  // has gone.
  bool AwaitWritten();
  // Sets a last message, which is sent with the end of the call if its status
  // is OK. Called by the serving thread.
  void WriteLast(grpc::ByteBuffer message);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;

 protected:
  // Drops the message that OnReadDone has received, and reads the next one.
  void ReadOn();
  // Blocks until the client has ended its messages, for at most `limit`.
  // Returns false if `limit` has passed.
  bool AwaitNoMore(absl::Duration limit);

 private:
  void ReadMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Start(grpc::ByteBuffer* message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AwaitIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishNow();

  grpc::CallbackServerContext& context_;
  StallGuard* const stall_guard_;
  const size_t max_ahead_bytes_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  std::optional<grpc::ByteBuffer> last_;

  absl::Mutex mutex_;
  // Called once, when the first message or the end of messages has arrived.
  std::function<void()> begin_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> tell_ ABSL_GUARDED_BY(mutex_);
  std::deque<grpc::ByteBuffer> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool no_more_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> readable_ = false;  // written with the lock held
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  // Set while a message is being sent, or the first message is awaited.
  std::optional<StallGuard::Watch> watch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_SERVED_STREAM_H_
