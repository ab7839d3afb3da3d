// SPDX-License-Identifier: Apache-2.0
//
// The state that outlives the Execute calls of a client. A client may lose its
// connection and return with another call. The results of all calls are kept
// until the client has surely got them (kept_results.h). A call begins with the
// number of results that the client has read, and sends the later results.
//
// Threads: a call has two threads. One reads commands (AwaitTurn, AwaitRoom,
// Acknowledge, End), the other sends results (Next). A thread of the attachment
// moves results from the queue into the kept results. A thread that produces a
// result may send it itself (SendDirectly).
//
// Locks: mutex_ guards everything. It is held while a result is sent directly,
// and never while Next's caller sends a batch.
#ifndef HOLDFAST_SERVER_EXECUTOR_ATTACH_ATTACHMENT_H_
#define HOLDFAST_SERVER_EXECUTOR_ATTACH_ATTACHMENT_H_

#include <grpcpp/server_context.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/attach/kept_results.h"
#include "server/executor/submission/result_queue.h"

namespace holdfast::executor {

// Serves one call at a time. A new call ends the previous call, whose
// connection may be broken although the executor has not noticed it. The new
// call sends results at once, and reads commands when the previous call has
// stopped reading. Thread-safe.
class Attachment {
 public:
  // The limit of unsent results, in bytes. At the limit, AwaitRoom blocks.
  static constexpr size_t kMaxUnsent = size_t{8} << 20;

  Attachment();
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // The queue for the results of all calls. Never null; may outlive this
  // object.
  const std::shared_ptr<ResultQueue>& results() const { return results_; }

  // Begins a call whose client has read `results_read` results, and cancels the
  // previous call. Returns the new call's number. OUT_OF_RANGE: the results
  // after these are not kept any more, or there are fewer results.
  // RESOURCE_EXHAUSTED: the system allows no thread. REQUIRES: `context` lives
  // until End.
  absl::StatusOr<uint64_t> Begin(grpc::ServerContextBase& context,
                                 uint64_t results_read);
  // Makes blocked methods of the call return, because its client has gone. Does
  // nothing for an earlier call.
  void Cancel(uint64_t call);
  // Ends a call: the call reads no command and sends no result any more. Must
  // be called for each call, and may be called again.
  void End(uint64_t call);

  // Blocks until the previous call has stopped reading. Returns false if this
  // call is over (cancelled, or followed by another call).
  bool AwaitTurn(uint64_t call);
  // Blocks while too many results wait to be sent. Returns false if the call is
  // over.
  bool AwaitRoom(uint64_t call);
  // Makes Next report to the client that commands up to `sequence` have
  // arrived.
  void Acknowledge(uint64_t call, uint64_t sequence);

  // Blocks until there are results to send, and sets `batch` to them. Returns
  // false if the call is over. REQUIRES: the batch of the previous Next was
  // sent.
  bool Next(uint64_t call, v1::ResultBatch* batch);

  // From now on until the call ends, a thread that produces a result sends it
  // with `send`, as ResultQueue::SendDirectly describes. It does so only if no
  // other result is waiting and no batch of Next is being sent. `send` returns
  // false if the result was not sent.
  void SendDirectly(uint64_t call, ResultQueue::SendNow send);

 private:
  // Runs in taker_.
  void TakeResults();
  // Blocks until there is room for the batch, and keeps it.
  void Keep(const v1::ResultBatch& batch);
  // Sends the batch directly, and keeps it as sent. Returns false if it could
  // not be sent.
  bool SendNow(const v1::ResultBatch& batch);
  // Makes the call over if it is the newest.
  void Drop(uint64_t call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AwaitInCall(uint64_t call, bool (Attachment::*condition)() const)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOver(uint64_t call) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool NobodyReads() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return reading_ == 0;
  }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return kept_.unsent_bytes() < kMaxUnsent;
  }

  const std::shared_ptr<ResultQueue> results_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  KeptResults kept_ ABSL_GUARDED_BY(mutex_);
  // The newest call, and its context; null if the call is over.
  uint64_t call_ ABSL_GUARDED_BY(mutex_) = 0;
  grpc::ServerContextBase* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // The call that reads commands; 0: none.
  uint64_t reading_ ABSL_GUARDED_BY(mutex_) = 0;
  // The last argument of Acknowledge, until Next has reported it.
  std::optional<uint64_t> arrived_ ABSL_GUARDED_BY(mutex_);
  // The newest call's function; null: none.
  ResultQueue::SendNow send_now_ ABSL_GUARDED_BY(mutex_);
  // True while a batch that Next has returned is being sent.
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread taker_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_ATTACH_ATTACHMENT_H_
