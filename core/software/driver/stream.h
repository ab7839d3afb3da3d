// SPDX-License-Identifier: Apache-2.0
//
// Streams: queues of operations. A stream runs its operations in order, and
// asynchronously to the threads that enqueue them.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_STREAM_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_STREAM_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/latch.h"
#include "cuda.h"

namespace holdfast::cuda {
class StreamAttributes;
}  // namespace holdfast::cuda

namespace holdfast::software {

class Context;
class Stream;
struct StreamCapture;

// A point in the order of a stream's operations, or in a running graph. A
// ticket shares ownership of the stream. The point of a default-constructed
// ticket is already reached. A Ticket is a value; other threads may use copies
// of it.
class Ticket {
 public:
  Ticket() = default;
  Ticket(std::shared_ptr<Stream> stream, uint64_t sequence)
      : stream_(std::move(stream)), sequence_(sequence) {}
  explicit Ticket(std::shared_ptr<Latch> latch) : latch_(std::move(latch)) {}

  // Returns true if the point is reached. Does not block.
  bool Done() const;
  // Blocks until the point is reached. With `help`, the calling thread runs
  // operations of the stream meanwhile. Otherwise only other threads run them:
  // the stream's thread, or threads that wait with `help`.
  void Wait(bool help) const;
  // Blocks until the point is reached, and returns Done(). Blocks for at most
  // 1 ms if the point belongs to a stream.
  bool WaitBriefly() const;
  // Calls Stream::RunLeft; does nothing for a point in a graph.
  void RunLeft() const;
  // Returns true if the stream is held up (Stream::held_up); false for a point
  // in a graph.
  bool HeldUp() const;

 private:
  std::shared_ptr<Stream> stream_;
  uint64_t sequence_ = 0;
  std::shared_ptr<Latch> latch_;  // instead of a stream
};

// One queue of operations. A worker thread runs the operations. The stream
// starts the worker when an operation arrives, and the worker ends after a
// second without work. A thread that waits for the stream runs the operations
// itself if no other thread does. So a short launch and its synchronization
// need no change of threads. Thread-safe.
//
// Operations run in the order of Enqueue, one at a time. An operation may wait
// for operations of other streams, by tickets:
//
//   Ticket copied = first.Enqueue({.run = copy}, Stream::Runner::kWorker);
//   second.Enqueue({.run = launch, .after = {copied}},
//                  Stream::Runner::kWorker);
//   second.Drain();
//
// After a kernel has faulted, operations do not run, but still count as done,
// in order.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  enum class Kind {
    kLegacy,       // the context's default stream
    kBlocking,     // ordered against the default stream
    kNonBlocking,  // CU_STREAM_NON_BLOCKING
  };

  // A unit of work. `run` owns the objects that it needs. The stream destroys
  // them before the operation counts as done.
  struct Operation {
    std::function<void()> run;
    // The points that must be reached before `run` starts.
    std::vector<Ticket> after;
    // True: `run` is called even if a kernel has faulted.
    bool even_after_fault = false;
    // True: `run` is short and waits for nothing, so that any thread may run
    // the operation (RunLeft).
    bool is_brief = false;
  };

  // The thread that runs an operation.
  enum class Runner {
    kWorker,  // the stream's thread
    kCaller,  // the caller, in Enqueue, if the stream is idle; else kWorker
    kWaiter,  // a thread that waits with help or calls RunLeft
  };

  // Only Context makes streams, and keeps each stream until the stream is idle.
  Stream(std::shared_ptr<Context> context, Kind kind, unsigned flags,
         const cuda::StreamAttributes& attributes);
  ~Stream();

  // Enqueues an operation, and returns the point after it. Also makes the
  // operation wait for the streams that CUDA's rules for default streams name.
  // Blocks only if the runner is kCaller and the stream is idle: then the
  // operation is done on return. Returns nullopt, and enqueues nothing, if the
  // system allows no thread for the stream; LastRefusal has the reason. Never
  // fails with kWaiter.
  std::optional<Ticket> Enqueue(Operation operation, Runner runner);
  // Enqueues an operation, as Enqueue does. Returns CUDA_ERROR_OUT_OF_MEMORY
  // where Enqueue returns nullopt.
  [[nodiscard]] CUresult Add(Operation operation, Runner runner);
  // Starts the worker if there is none, so that the next Enqueue does not fail.
  // The worker ends after a second without work. Returns false if the system
  // allows no thread; LastRefusal has the reason.
  [[nodiscard]] bool StartWorker();
  // Goes on with operations that no thread runs, because the system allowed no
  // thread when they were enqueued: starts the worker, or, if there is still no
  // thread, runs brief operations whose points are reached. Does not block. All
  // threads that wait for the stream or query it call RunLeft.
  void RunLeft();
  // Returns the point after all operations that are enqueued now.
  Ticket Tail();
  // Blocks until Tail() is reached, and runs operations meanwhile.
  void Drain() { Tail().Wait(/*help=*/true); }
  // Blocks until Tail() is reached or the stream is held up. Runs no operations
  // except as RunLeft does. Calls that free memory use it, because they must
  // not wait for a value that may never be written.
  void DrainUnlessHeldUp();

  // Returns true if the running operation, or the next one if none can run
  // without a thread, waits for a value in memory or for a stream that is held
  // up.
  bool held_up() const { return held_up_; }
  // Sets the result of held_up(). REQUIRES: called by an operation that this
  // stream is running.
  void SetHeldUp(bool held_up) { held_up_ = held_up; }

  // Returns true if all enqueued operations are done. The result is a hint,
  // because another thread may enqueue an operation at any time.
  bool Idle() const { return completed_.load() == enqueued_.load(); }

  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  // The order of the stream relative to the default stream.
  Kind kind() const { return kind_; }
  // The flags that were passed to cuStreamCreate.
  unsigned flags() const { return flags_; }
  // Returns a copy. The attributes, among them the priority, have no effect.
  cuda::StreamAttributes attributes() const;
  // Set attributes, as cuda::StreamAttributes::Set and CopyFrom do.
  CUresult SetAttribute(CUstreamAttrID id, const CUstreamAttrValue& value);
  void CopyAttributes(const cuda::StreamAttributes& attributes);
  // The number of the stream. A process uses no number twice.
  uint64_t id() const { return id_; }

  // The state of a capture: the stream adds nodes to a graph instead of running
  // operations. Null: the stream does not capture. Guarded by the lock of graph
  // definitions (graph/capture.h).
  std::shared_ptr<StreamCapture> capture;

 private:
  friend class Ticket;

  bool Done(uint64_t sequence) const { return completed_.load() >= sequence; }
  // Blocks until the operation with the number `sequence` is done. `help`: as
  // for Ticket::Wait.
  void Wait(uint64_t sequence, bool help);
  // Blocks for at most 1 ms. Returns true if the operation is done.
  bool WaitBriefly(uint64_t sequence);
  // Returns true if operations are queued and no thread runs one.
  bool ReadyLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !running_ && !queue_.empty();
  }
  // RunLeft. Unlocks mutex_ meanwhile.
  void RunLeftLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Runs the oldest queued operation. Unlocks mutex_ meanwhile.
  void RunNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for the points in `after` without `help`, and then runs the
  // operation. Unlocks mutex_ meanwhile.
  void Run(Operation operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes waiting threads if their operation may be done. Also wakes them if
  // there is no worker, because one of them must then run the remaining
  // operations.
  void WakeWaiters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes the worker, or starts it if there is none. The worker has signals
  // blocked, so that it does not handle signals of the application. Returns
  // false if the system allows no thread; LastRefusal has the reason.
  bool WakeWorker() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The worker's loop. Ends after a second without work.
  void Work();

  const std::shared_ptr<Context> context_;
  const Kind kind_;
  const unsigned flags_;
  const uint64_t id_;

  mutable Mutex mutex_;
  const std::unique_ptr<cuda::StreamAttributes> attributes_
      ABSL_PT_GUARDED_BY(mutex_);
  ConditionVariable work_;  // for the worker
  ConditionVariable done_;  // for threads that wait
  std::deque<Operation> queue_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_worker_ ABSL_GUARDED_BY(mutex_) = false;
  bool worker_sleeps_ ABSL_GUARDED_BY(mutex_) = false;
  // The least sequence number for which a sleeping thread waits; kNothing: no
  // thread sleeps.
  static constexpr uint64_t kNothing = UINT64_MAX;
  uint64_t next_wanted_ ABSL_GUARDED_BY(mutex_) = kNothing;
  std::atomic<bool> held_up_{false};
  // The sequence numbers of the last enqueued and the last done operation.
  // Written under mutex_, read without it.
  std::atomic<uint64_t> enqueued_{0};
  std::atomic<uint64_t> completed_{0};
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_STREAM_H_
