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

// Runs all work that uses a session's resources, one piece at a time: on its
// own thread, or on a thread that calls RunBatch or RunOrPost. The work needs
// no locks, because no other work runs meanwhile. Thread-safe.
//
// There are two kinds of work: steps and batches. Both run in the order of
// posting. A batch that must wait for room is parked: the batches after it wait
// as well, and steps continue to run.
class SubmissionThread {
 public:
  // The most waiting pieces of work of each kind. A thread that posts more is
  // blocked, which delays only its own call.
  static constexpr size_t kMaxWaiting = 64;
  // The most bytes of all waiting batches. A single batch may have more.
  static constexpr size_t kMaxWaitingBytes = size_t{16} << 20;

  // Starts the thread.
  SubmissionThread();
  // Calls Stop and Join. Must not be called by running work.
  ~SubmissionThread();
  SubmissionThread(const SubmissionThread&) = delete;
  SubmissionThread& operator=(const SubmissionThread&) = delete;

  // Posts a step. Returns false if the thread is stopping; the step then does
  // not run. Blocks while kMaxWaiting steps wait.
  bool Post(std::function<void()> step);

  // Like Post, but the calling thread runs the step now if no other work runs
  // or waits, because to hand a short step over takes longer than to run it.
  bool RunOrPost(std::function<void()> step);

  // Posts a step, and blocks until it has run. Returns false if it was dropped.
  // Must not be called by running work.
  bool Run(const std::function<void()>& step);

  // Posts a batch, and returns as Post. `bytes` is the size of the batch in
  // memory; blocks while too many batches or bytes wait. `batch` returns true
  // when it is done. If it returns false, it is parked, and called again after
  // Wake, also if Wake was called while it ran.
  bool PostBatch(std::function<bool()> batch, size_t bytes);
  // Like PostBatch, but the calling thread runs the batch now if no other work
  // runs or waits, because to hand a batch over takes as long as to run a small
  // batch. `more` returns true if the calling thread has other work; see idle.
  bool RunBatch(std::function<bool()> batch, size_t bytes,
                const std::function<bool()>& more);
  // Wakes the parked batch, or else the next batch that parks.
  void Wake();

  // Returns true if the thread that runs the present work has nothing else to
  // do. REQUIRES: called by running work.
  bool idle() const { return count_ == 0 && (more_ == nullptr || !(*more_)()); }

  // Stop drops all waiting work, and makes later calls of Post and the like
  // return false; calls of Run for dropped work return false. It does not
  // block, and running work may call it. Join blocks until the thread has ended
  // and no work runs; running work must not call it.
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
  // Takes the turn and returns true if no work runs or waits.
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
