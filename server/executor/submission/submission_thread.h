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

// Gives a session's devices their work and owns its resources, in a thread of
// its own, or in that of RunBatch: what it runs needs no locks, since nothing
// else runs meanwhile. Thread-safe.
//
// Work of two kinds. Steps run in the order in which they were posted. Batches
// do so, too, but a batch may have to wait for room somewhere: it is parked,
// and the batches behind it with it, while steps go on.
class SubmissionThread {
 public:
  // Tasks of each kind that may wait. Posting more blocks the caller, which
  // holds up only its own stream.
  static constexpr size_t kMaxWaiting = 64;
  // Bytes of the batches that wait, in sum. One alone may have more.
  static constexpr size_t kMaxWaitingBytes = size_t{16} << 20;

  // Starts the thread.
  SubmissionThread();
  // Stop and Join. Must not be called by the thread itself.
  ~SubmissionThread();
  SubmissionThread(const SubmissionThread&) = delete;
  SubmissionThread& operator=(const SubmissionThread&) = delete;

  // False: it is stopping, and the work will not run. Blocks while kMaxWaiting
  // steps wait.
  bool Post(std::function<void()> step);

  // Posts and waits until the step has run. Not from the thread itself.
  bool Run(const std::function<void()>& step);

  // `batch` returns true when it is done. False parks it: it is called again
  // after Wake, which may have come meanwhile. As for Post.
  bool PostBatch(std::function<bool()> batch, size_t bytes);
  // The same, but the calling thread runs the batch now, unless something else
  // runs or waits: to hand a batch over takes as long as to run a small one.
  // `more`: has that thread something else to do? See idle.
  bool RunBatch(std::function<bool()> batch, size_t bytes,
                const std::function<bool()>& more);
  // Wakes the parked batch; does nothing if none is parked, but for the next
  // that parks.
  void Wake();

  // Has the thread that runs it nothing else to do? For the work itself.
  bool idle() const { return count_ == 0 && (more_ == nullptr || !(*more_)()); }

  // Drops what waits; Join returns when nothing runs any more. Any thread; also
  // from the work itself. A thread that waits in Run gets false. Join must not
  // be called by the work.
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

  // Blocks while too much of its kind waits. False: stopping.
  bool Enqueue(Work work);
  // Takes the turn to run something, if nothing runs or waits.
  bool TryBegin();
  // Runs work whose turn it is, and gives the turn back. Parks what is not
  // done.
  void RunOne(Work work);
  // Takes over a batch that is not done, unless it is to be dropped.
  void Park(Work* work);
  // May it run, as things are?
  bool CanRun(const Work& work) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !parked_.has_value() || !work.is_batch;
  }
  // There is something that can run now: the parked batch if it was woken, or
  // the first task that CanRun allows.
  bool HasNext() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the turn. REQUIRES: HasNext().
  Work TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blocks until there is something that can run; nullopt: stopping.
  std::optional<Work> AwaitNext();
  // The thread's loop.
  void Loop();

  // Grows with everything that may end a wait of the thread.
  std::atomic<uint32_t> changes_{0};
  std::atomic<size_t> count_{0};  // of waiting_
  // From the thread that runs something by RunBatch. For the one whose turn it
  // is.
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
