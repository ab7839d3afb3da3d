// SPDX-License-Identifier: Apache-2.0
//
// Streams: queues of work that runs in order, asynchronously to the threads
// that enqueue it.
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

// A point in the order of a stream's work, or in a running graph. The point of
// a default-constructed ticket is already reached.
class Ticket {
 public:
  Ticket() = default;
  Ticket(std::shared_ptr<Stream> stream, uint64_t sequence)
      : stream_(std::move(stream)), sequence_(sequence) {}
  explicit Ticket(std::shared_ptr<Latch> latch) : latch_(std::move(latch)) {}

  // Returns true if the point is reached. Does not block.
  bool Done() const;
  // Blocks until the point is reached. With `help`, the calling thread runs the
  // stream's work meanwhile; otherwise the stream's thread, or another thread
  // that waits with `help`, runs it.
  void Wait(bool help) const;
  // Blocks until the point is reached, for at most 1 ms if it is a stream's,
  // and returns Done().
  bool WaitBriefly() const;
  // Returns true if the stream is held up; false for a point in a graph.
  bool HeldUp() const;

 private:
  std::shared_ptr<Stream> stream_;
  uint64_t sequence_ = 0;
  std::shared_ptr<Latch> latch_;  // instead of a stream
};

// One queue of operations. A worker thread runs them; it is started when work
// arrives, and ends after a second without work. A thread that waits for the
// stream runs the work itself if no other thread does, so that a short launch
// and its synchronize need no change of threads. Thread-safe.
//
// Work enters by Enqueue and leaves in the same order, one operation at a time.
// Operations may wait for those of other streams, by tickets:
//
//   Ticket copied = first.Enqueue({.run = copy}, Stream::Runner::kWorker);
//   second.Enqueue({.run = launch, .after = {copied}},
//                  Stream::Runner::kWorker);
//   second.Drain();
//
// After a kernel has faulted, operations are dropped in order instead of run.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  enum class Kind {
    kLegacy,       // the context's default stream
    kBlocking,     // ordered against the default stream
    kNonBlocking,  // CU_STREAM_NON_BLOCKING
  };

  // A unit of work. `run` owns the objects that it needs; they are released
  // before the operation counts as done.
  struct Operation {
    std::function<void()> run;
    std::vector<Ticket> after;  // points of other streams to wait for
    // Runs even if a kernel has faulted.
    bool even_after_fault = false;
  };

  // The thread that runs an operation.
  enum class Runner {
    kWorker,  // the stream's thread
    kCaller,  // the caller at once, if the stream is idle: for short work
    kWaiter,  // a thread that waits; the caller must wait next
  };

  // Called by Context, which keeps the stream until the stream is idle.
  Stream(std::shared_ptr<Context> context, Kind kind, unsigned flags,
         const cuda::StreamAttributes& attributes);
  ~Stream();

  // Adds the order of default streams to `operation.after`. Returns at once
  // unless the runner is kCaller and the stream is idle. nullopt: nothing was
  // enqueued, because the system allows no thread for the stream; LastRefusal
  // says so. Does not happen with kWaiter.
  std::optional<Ticket> Enqueue(Operation operation, Runner runner);
  // The same for entry points: CUDA_ERROR_OUT_OF_MEMORY instead of nullopt.
  [[nodiscard]] CUresult Add(Operation operation, Runner runner);
  // Starts the stream's thread if there is none, so that the next Enqueue is
  // not refused. The thread ends after a second without work. Returns false if
  // the system allows no thread; LastRefusal says so.
  [[nodiscard]] bool StartWorker();
  // Returns the point after all operations that are enqueued now.
  Ticket Tail();
  // Blocks until Tail() is reached, and helps to run the work.
  void Drain() { Tail().Wait(/*help=*/true); }
  // Blocks until Tail() is reached or the stream is held up. For callers that
  // free memory, which must not wait for a value that may never be written.
  void DrainUnlessHeldUp();

  // Returns true if the running operation waits for a value in memory, or for a
  // stream that is held up.
  bool held_up() const { return held_up_; }
  // REQUIRES: called by an operation that this stream is running.
  void SetHeldUp(bool held_up) { held_up_ = held_up; }

  // Returns true if no work is enqueued. A hint, because another thread may
  // enqueue work at any time.
  bool Idle() const { return completed_.load() == enqueued_.load(); }

  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  // How the stream is ordered against the default stream.
  Kind kind() const { return kind_; }
  // The flags that were passed to cuStreamCreate.
  unsigned flags() const { return flags_; }
  // Returns a copy. The attributes, among them the priority, have no effect.
  cuda::StreamAttributes attributes() const;
  // As cuda::StreamAttributes::Set and CopyFrom.
  CUresult SetAttribute(CUstreamAttrID id, const CUstreamAttrValue& value);
  void CopyAttributes(const cuda::StreamAttributes& attributes);
  // Never used twice in a process.
  uint64_t id() const { return id_; }

  // The capture of a stream that builds a graph instead of working; else null.
  // Guarded by the lock of graphs (graph/capture.h).
  std::shared_ptr<StreamCapture> capture;

 private:
  friend class Ticket;

  bool Done(uint64_t sequence) const { return completed_.load() >= sequence; }
  // Blocks until the operation of this number is done.
  void Wait(uint64_t sequence, bool help);
  // Blocks for at most 1 ms. Returns true if the operation is done.
  bool WaitBriefly(uint64_t sequence);
  // Returns true if there is work and no thread runs any.
  bool ReadyLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !running_ && !queue_.empty();
  }
  // Runs the oldest operation; unlocks while it runs.
  void RunNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for the points in `after` without `help`, then runs the operation.
  void Run(Operation operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes waiting threads if their operation may be done, or if there is no
  // worker, because a waiting thread must then run the remaining work.
  void WakeWaiters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes the worker, or starts it if there is none, with signals blocked so
  // that it does not handle the application's. Returns false if the system
  // allows no thread.
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
  // The least sequence number that a sleeping thread waits for.
  static constexpr uint64_t kNothing = UINT64_MAX;
  uint64_t next_wanted_ ABSL_GUARDED_BY(mutex_) = kNothing;
  std::atomic<bool> held_up_{false};
  // Sequence numbers; written under the mutex, read without.
  std::atomic<uint64_t> enqueued_{0};
  std::atomic<uint64_t> completed_{0};
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_STREAM_H_
