// SPDX-License-Identifier: Apache-2.0
//
// Streams: work in order, beside the threads that enqueue it.
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

// A point in the order of work of a stream, or within a graph that runs. A
// default one lies in the past.
class Ticket {
 public:
  Ticket() = default;
  Ticket(std::shared_ptr<Stream> stream, uint64_t sequence)
      : stream_(std::move(stream)), sequence_(sequence) {}
  explicit Ticket(std::shared_ptr<Latch> latch) : latch_(std::move(latch)) {}

  // Does not block.
  bool Done() const;
  // Returns when all work up to here is done. Lends the calling thread to the
  // stream if `help` is true. Without `help` the stream's thread does the work,
  // or another that waits.
  void Wait(bool help) const;
  // Returns whether it is, after a moment at most; and whether the stream is
  // held up. "A moment" is a millisecond; for a latch it blocks until that is
  // open.
  bool WaitBriefly() const;
  bool HeldUp() const;

 private:
  std::shared_ptr<Stream> stream_;
  uint64_t sequence_ = 0;
  std::shared_ptr<Latch> latch_;  // instead of a stream
};

// One queue of operations. A thread of its own works it off; it is started
// when work arrives and ends when none comes for a while. A thread that waits
// for the stream does the work itself if no other does, so that a short
// launch and its synchronize need no change of threads. Thread-safe.
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

  // A unit of work. It holds what it needs; that is let go before it counts as
  // done.
  struct Operation {
    std::function<void()> run;
    std::vector<Ticket> after;  // of other streams
    // Run although a kernel has faulted: what must not be lost.
    bool even_after_fault = false;
  };

  // The thread that runs an operation.
  enum class Runner {
    kWorker,  // the stream's thread
    kCaller,  // the caller at once, if the stream is idle: for short work
    kWaiter,  // a thread that waits, as the caller is about to do
  };

  // Made by Context, which keeps it until it is idle.
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
  // Starts the stream's thread, which stays for a second at least, so that what
  // is enqueued next is not refused. Returns false if the system allows none;
  // LastRefusal says so.
  [[nodiscard]] bool StartWorker();
  // Everything enqueued up to now.
  Ticket Tail();
  // Both wait for Tail().
  void Drain() { Tail().Wait(/*help=*/true); }
  // The same, but gives up when the stream is held up: for those who free
  // memory, which must not wait for something that may never come.
  void DrainUnlessHeldUp();

  // It waits for a value in memory, or for a stream that does.
  bool held_up() const { return held_up_; }
  // REQUIRES: called by an operation that this stream is running.
  void SetHeldUp(bool held_up) { held_up_ = held_up; }

  // A hint: work may come at any time.
  bool Idle() const { return completed_.load() == enqueued_.load(); }

  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  // Tells how it is ordered against the default stream.
  Kind kind() const { return kind_; }
  // As they were given to cuStreamCreate.
  unsigned flags() const { return flags_; }
  // A copy. Nothing acts on an attribute; the priority is one of them.
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
  // Blocks for a millisecond at most. Returns whether it is done.
  bool WaitBriefly(uint64_t sequence);
  // There is work, and no thread is at it.
  bool ReadyLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !running_ && !queue_.empty();
  }
  // Runs the oldest operation; unlocks while it runs.
  void RunNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for the operations in `after`, without lending the thread to them.
  void Run(Operation operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // All of them if there is no worker, since one may have to do the rest.
  void WakeWaiters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts the worker if it has ended, without the application's signals.
  // Returns false if the system allows no thread.
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
