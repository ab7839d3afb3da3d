// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SUBMISSION_RESULT_QUEUE_H_
#define HOLDFAST_SERVER_EXECUTOR_SUBMISSION_RESULT_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast::executor {

// Passes results from the threads that produce them to the thread that sends
// them. Thread-safe. Owned by shared_ptrs, because a thread may produce a
// result after the call has been given up.
//
// The queue is bounded: if results are not taken, commands are no longer
// carried out (CommandProcessor), and then no longer read (CommandService). So
// a client that reads no results cannot send more commands.
class ResultQueue {
 public:
  // There is no more room if this many results, or this many bytes of results,
  // wait or are expected (Expect).
  static constexpr size_t kMaxWaiting = 4096;
  static constexpr size_t kMaxWaitingBytes = size_t{8} << 20;

  // Sends a result at once. Returns false if that is not possible; the queue
  // then keeps the result. Called by any thread, with the queue's lock held,
  // but never while a batch that Take returned is being sent.
  using SendNow = std::function<bool(const v1::ResultBatch&)>;
  // From now on, a thread that adds a result sends it with `send` if no other
  // result is waiting, so that no thread must be woken. Null ends this.
  void SendDirectly(SendNow send);

  // Returns an object that keeps the queue open until it is destroyed. A batch
  // of commands has one until it is processed.
  static std::shared_ptr<void> Hold(std::shared_ptr<ResultQueue> queue);

  // Reserves room for a later result of about `bytes` bytes. Each call must be
  // followed by one call of Deliver.
  void Expect(size_t bytes = 0);
  // Adds an expected result. `expected_bytes` is the argument of Expect.
  void Deliver(v1::Result result, size_t expected_bytes = 0);

  // Add a result, or the error of a command, for which no room was reserved.
  void Add(v1::Result result);
  void AddError(uint64_t sequence, const absl::Status& error);

  // Ends the queue: Take returns false once all present and expected results
  // are taken and all objects of Hold are destroyed.
  void Finish();
  // Drops all present and later results, and ends all waits. Called when the
  // client has gone.
  void Abandon();

  // Blocks until there are results, and moves them into `batch`, in order,
  // until it has about 1 MiB. Returns false if there will be no more results.
  // Called by one thread. REQUIRES: the batch of the last call was sent.
  bool Take(v1::ResultBatch* batch);

  // Blocks until no result waits or is being sent, or the queue is abandoned,
  // for at most `limit`.
  void AwaitSent(absl::Duration limit);

  // Returns true if there is room for another command's result, or if the queue
  // is abandoned. Otherwise returns false, and keeps `when_room` in place of
  // that of an earlier call. The thread that makes room, or abandons the queue,
  // calls it once.
  bool HasRoom(const std::function<void()>& when_room);

  // Blocks until there is room. Returns false if the queue is abandoned.
  bool AwaitRoom();

  // The number of results that wait or are expected, and of their bytes.
  size_t waiting() const { return count_; }
  size_t waiting_bytes() const { return bytes_; }

 private:
  void Release();
  // Spins until Take may have a result, for a moment at most.
  void LookForAMoment();
  void Push(v1::Result result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls the waiting `when_room`, if there is room.
  void AnnounceRoom();
  bool Room() const {
    return count_ < kMaxWaiting && bytes_ < kMaxWaitingBytes;
  }
  bool Ready() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return abandoned_ || !results_.empty() || (finished_ && owed_ + held_ == 0);
  }

  // Written with mutex_ held, read without.
  std::atomic<size_t> count_{0};
  std::atomic<size_t> bytes_{0};
  std::atomic<uint32_t> changes_{0};  // counts events that may end a Take

  absl::Mutex mutex_;
  struct Entry {
    v1::Result result;
    size_t bytes = 0;
  };
  std::deque<Entry> results_ ABSL_GUARDED_BY(mutex_);
  SendNow send_now_ ABSL_GUARDED_BY(mutex_);
  v1::ResultBatch single_ ABSL_GUARDED_BY(mutex_);  // for send_now_
  // True while the last batch of Take is being sent.
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;
  size_t owed_ ABSL_GUARDED_BY(mutex_) = 0;  // results expected
  size_t held_ ABSL_GUARDED_BY(mutex_) = 0;  // objects of Hold
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> when_room_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_RESULT_QUEUE_H_
