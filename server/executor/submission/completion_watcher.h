// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SUBMISSION_COMPLETION_WATCHER_H_
#define HOLDFAST_SERVER_EXECUTOR_SUBMISSION_COMPLETION_WATCHER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/cuda/event.h"
#include "core/cuda/stream.h"
#include "server/executor/submission/event_pool.h"

namespace holdfast::executor {

// Calls back when events or streams have completed. One thread watches all of
// them, so that a wait for one stream never delays the commands of another.
// Thread-safe.
class CompletionWatcher {
 public:
  using Events = std::vector<std::shared_ptr<const cuda::Event>>;
  // Called once, with OK or the device's error, by the watcher's thread or by
  // the caller of Watch.
  using Callback = std::function<void(const absl::Status&)>;

  // Starts the thread. `hand_on_output` delivers the output of kernels. It is
  // called, by any thread, before a callback reports the end of work that may
  // have printed. May be null.
  explicit CompletionWatcher(std::function<void()> hand_on_output = nullptr);
  // Calls the remaining callbacks with CANCELLED.
  ~CompletionWatcher();
  CompletionWatcher(const CompletionWatcher&) = delete;
  CompletionWatcher& operator=(const CompletionWatcher&) = delete;

  // Notes that kernels may print from now on. Without this call,
  // `hand_on_output` is never called, because it takes as long as a query of a
  // stream.
  void ExpectOutput() { output_expected_ = true; }

  // Returns an event that marks the present end of `stream`.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> RecordEvent(
      const cuda::Stream& stream) {
    return events_->RecordEvent(stream);
  }
  // Gives work to `stream` and marks its end, as EventPool::RecordAfter does.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> RecordAfter(
      const cuda::Stream& stream, absl::FunctionRef<absl::Status()> give) {
    return events_->RecordAfter(stream, give);
  }

  // Calls `callback` when all of `events` have completed, perhaps before Watch
  // returns. Does not block.
  void Watch(Events events, Callback callback);

  // Like Watch, but the calling thread first polls for up to 20 us, as long as
  // `idle()` returns true. To hand the wait to the watcher's thread takes
  // longer than many kernels. Does not poll on a machine with few processors.
  void WatchClosely(Events events, Callback callback,
                    const std::function<bool()>& idle);

  // Polls the stream as WatchClosely polls events, but at least once, because
  // to record an event takes longer than a query. Returns the outcome of the
  // stream's work; nullopt: it is not done.
  std::optional<absl::Status> LookClosely(const cuda::Stream& stream,
                                          const std::function<bool()>& idle);

  // Like Watch, for a callback that no client waits for. The thread does not
  // poll without pauses for it, so the callback may be late by 0.2 ms, or by a
  // 128th of the work's time.
  void WatchIdly(Events events, Callback callback);

  // Calls `callback` when the present work of `stream` is done. If the event
  // cannot be recorded, returns the error and never calls `callback`.
  absl::Status Watch(const cuda::Stream& stream, Callback callback);

 private:
  // A wait that is not over.
  struct Entry {
    Events events;
    Callback callback;
    bool idle = false;  // added by WatchIdly
  };

  // The thread's loop: polls without a pause for 2 ms after a change, then with
  // growing pauses.
  void Run();
  // Moves the added waits to `entries`. Blocks if `entries` is empty and no
  // wait was added. Returns false if the watcher stops.
  bool TakeAdded(std::vector<Entry>& entries);
  // Hands the wait to the thread.
  void Add(Entry entry);
  // Waits for `duration`, or until a wait is added.
  void Pause(absl::Duration duration);
  // Calls `look` until it returns an outcome, `idle()` returns false, or
  // kCloseTime is over.
  template <typename Look>
  static std::optional<absl::Status> LookUntil(
      const Look& look, const std::function<bool()>& idle);
  // Returns the outcome of the work before `mark`, an event or a stream;
  // nullopt: it is not done.
  template <typename Mark>
  std::optional<absl::Status> EndOf(const Mark& mark) const;
  // Returns the outcome of a wait; nullopt: it is not over. Removes the events
  // that have completed.
  std::optional<absl::Status> Outcome(Events& events) const;
  void HandOnOutput() const {
    if (output_expected_) hand_on_output_();
  }
  // Returns true if an entry was not added by WatchIdly.
  static bool AnyAwaited(const std::vector<Entry>& entries);
  // Calls the callbacks of the entries that are done, and removes them. Returns
  // false if there is no such entry.
  bool Poll(std::vector<Entry>& entries);

  const std::function<void()> hand_on_output_;
  std::atomic<bool> output_expected_{false};
  const std::shared_ptr<EventPool> events_ = std::make_shared<EventPool>();
  std::atomic<uint32_t> changes_{0};  // of the fields below
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Entry> added_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_COMPLETION_WATCHER_H_
