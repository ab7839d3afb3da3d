// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SUBMISSION_SUBMISSION_THREAD_H_
#define HOLDFAST_SERVER_EXECUTOR_SUBMISSION_SUBMISSION_THREAD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast::executor {

// Runs all work that uses a session's resources, one piece at a time, on its
// own thread or on a thread in RunBatch or RunOrPost. The work needs no locks,
// because no other work runs meanwhile. Thread-safe.
//
// There are two kinds of work: steps and batches. Both run in the order of
// posting. A batch that must wait for room is parked: the batches after it wait
// as well, and steps continue to run.
class SubmissionThread {
 public:
  // The most waiting tasks of each kind. Posting more blocks the caller, which
  // delays only its own stream.
  static constexpr size_t kMaxWaiting = 64;
  // The most bytes of all waiting batches. A single batch may have more.
  static constexpr size_t kMaxWaitingBytes = size_t{16} << 20;

  // Starts the thread.
  SubmissionThread();
  // Calls Stop and Join. Must not run on the thread itself.
  ~SubmissionThread();
  SubmissionThread(const SubmissionThread&) = delete;
  SubmissionThread& operator=(const SubmissionThread&) = delete;

  // Posts a step. Returns false if the thread is stopping; the step then does
  // not run. Blocks while kMaxWaiting steps wait.
  bool Post(std::function<void()> step);

  // Does the same as Post, but the calling thread runs the step now if no other
  // work runs or waits, because handing over a short step takes longer than
  // running it.
  bool RunOrPost(std::function<void()> step);

  // Posts a step, and waits until it has run. Returns false if it was dropped.
  // Must not be called on the thread itself.
  bool Run(const std::function<void()>& step);

  // Posts a batch, as Post. `batch` returns true when it is done. If it returns
  // false, it is parked, and called again after Wake, also if Wake was called
  // while it ran.
  bool PostBatch(std::function<bool()> batch, size_t bytes);
  // Does the same as PostBatch, but the calling thread runs the batch now if no
  // other work runs or waits, because handing a batch over takes as long as
  // running a small batch. `more` returns true if the calling thread has other
  // work; see idle.
  bool RunBatch(std::function<bool()> batch, size_t bytes,
                const std::function<bool()>& more);
  // Wakes the parked batch, or else the next batch that parks.
  void Wake();

  // Called by running work. Returns true if its thread has nothing else to do.
  bool idle() const { return count_ == 0 && (more_ == nullptr || !(*more_)()); }

  // Stop drops all waiting work; calls of Run for it return false. Any thread
  // may call it, also the work itself. Join waits until no work runs. The work
  // must not call Join.
  void Stop();
  void Join();

 private:
  // A step or a batch that waits for its turn.
  struct Work {
    std::function<bool()> run;
    bool is_batch = false;
    size_t bytes = 0;
  };
  // The waiting tasks of one kind.
  struct Waiting {
    size_t count = 0;
    size_t bytes = 0;
  };

  static Work Step(std::function<void()> step);
  // Blocks while too much work of its kind waits. Returns false when stopping.
  bool Enqueue(Work work);
  // Takes the turn if no work runs or waits.
  bool TryBegin();
  // Runs the work, parks it if it is not done, and gives the turn back.
  // REQUIRES: the turn is taken.
  void RunOne(Work work);
  // Parks a batch that is not done; drops it when stopping.
  void Park(Work* work);
  // Returns true if the work may run now.
  bool CanRun(const Work& work) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !parked_.has_value() || !work.is_batch;
  }
  // Returns true if a task can run now: the parked batch if it was woken, or a
  // waiting task that CanRun allows.
  bool HasNext() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the turn. REQUIRES: HasNext().
  Work TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blocks until a task can run, and takes it. Returns nullopt when stopping.
  std::optional<Work> AwaitNext();
  // The thread's loop.
  void Loop();

  // Counts the events that may end a wait of the thread.
  std::atomic<uint32_t> changes_{0};
  std::atomic<size_t> count_{0};  // of waiting_
  // The `more` of the running RunBatch. Only the running work uses it.
  const std::function<bool()>* more_ = nullptr;

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;  // the turn is taken
  std::deque<Work> waiting_ ABSL_GUARDED_BY(mutex_);
  Waiting steps_ ABSL_GUARDED_BY(mutex_);
  Waiting batches_ ABSL_GUARDED_BY(mutex_);
  std::optional<Work> parked_ ABSL_GUARDED_BY(mutex_);
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_SUBMISSION_THREAD_H_
