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

// A call with messages of bytes, which a thread of ours serves that may wait.
// Threads of gRPC's only move the messages, and read kMaxAhead ahead of that
// thread. Every shape of call is a stream to it. Deletes itself.
//
//   auto* const call = new ServedStream(*context, &stall_guard_);
//   call->ServeMessages(threads_, [this, call] { return Upload(*call); });
//   return call;
class ServedStream
    : public Cancellable<
          grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>> {
 public:
  // Messages that wait for the thread: the first two of a short call come while
  // it is being woken.
  static constexpr size_t kMaxAhead = 2;
  // So many bytes that wait are enough, too: a client may have many calls.
  static constexpr size_t kMaxAheadBytes = size_t{256} << 10;

  // `stall_guard`, which must outlive the call, gives up a client that does not
  // send what Read waits for, or does not take what it is sent. Null: a client
  // may take for ever.
  ServedStream(grpc::CallbackServerContext& context, StallGuard* stall_guard,
               size_t max_ahead_bytes = kMaxAheadBytes)
      : context_(context),
        stall_guard_(stall_guard),
        max_ahead_bytes_(max_ahead_bytes) {}

  // Has `serve` run in one of `threads`, as `client`'s share of them, and ends
  // the call with what it returns. RESOURCE_EXHAUSTED is the call's end where
  // there is no thread.
  void Serve(CallThreads& threads, std::function<absl::Status()> serve,
             const std::string& client = "");
  // Begins to read, and serves once the first message has come, or the end: a
  // client that sends nothing holds no thread. REQUIRES: a stall guard.
  void ServeMessages(CallThreads& threads, std::function<absl::Status()> serve,
                     const std::string& client = "");
  // Ends a call that is not served.
  void End(const absl::Status& status);

  grpc::CallbackServerContext& context() { return context_; }

  // Begins to read, where ServeMessages has not. Once, before Read.
  void ReadAhead();
  // Waits for the client's next message. False: it sends no more, or is gone.
  // One thread at a time.
  bool Read(grpc::ByteBuffer* message);
  // Would Read not wait? Any thread.
  bool Readable() const { return readable_; }
  // Has `tell` run, by a thread of gRPC's, whenever Read would not wait any
  // more; nullptr: from now on not.
  void TellReadable(std::function<void()> tell);

  // Sends a message when the one before has been taken. False: the client is
  // gone.
  bool Write(grpc::ByteBuffer message);
  // Write, unless it would wait; false: it would, or the client is gone.
  bool TryWrite(grpc::ByteBuffer message);
  // Waits until the message has been taken. False: the client is gone.
  bool AwaitWritten();
  // Sends a message together with the end of the call, if that is OK.
  void WriteLast(grpc::ByteBuffer message);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;

 protected:
  // Reads the next message in the place of one that OnReadDone was told of.
  void ReadOn();
  // Waits until Read would say that the client sends no more, for so long at
  // most.
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
  std::function<void()> begin_ ABSL_GUARDED_BY(mutex_);  // with a first message
  std::function<void()> tell_ ABSL_GUARDED_BY(mutex_);
  std::deque<grpc::ByteBuffer> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool no_more_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> readable_ = false;  // written with the lock held
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  // While a message is on its way to the client, or its first is awaited.
  std::optional<StallGuard::Watch> watch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_SERVED_STREAM_H_
