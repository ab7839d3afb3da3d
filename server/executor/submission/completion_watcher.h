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
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/cuda/event.h"
#include "core/cuda/stream.h"
#include "server/executor/submission/event_pool.h"

namespace holdfast::executor {

// Calls back when the device has come to some point. One thread watches every
// point, so that waiting for one stream never holds up the commands of another.
// Thread-safe.
class CompletionWatcher {
 public:
  using Events = std::vector<std::shared_ptr<const cuda::Event>>;
  // Called once, with OK or the device's error: on the watcher's thread, or by
  // Watch itself.
  using Callback = std::function<void(const absl::Status&)>;

  // `hand_on_output` is called, by any thread, before anybody is told that work
  // has completed or failed whose kernels may print. May be null. Starts the
  // thread.
  explicit CompletionWatcher(std::function<void()> hand_on_output = nullptr);
  // Calls what is left with CANCELLED.
  ~CompletionWatcher();
  CompletionWatcher(const CompletionWatcher&) = delete;
  CompletionWatcher& operator=(const CompletionWatcher&) = delete;

  // From now on kernels may print. To look after their output takes as long as
  // to ask whether a stream is done, so it is left out until then.
  void ExpectOutput() { output_expected_ = true; }

  // An event that marks what `stream` has been given so far.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> RecordEvent(
      const cuda::Stream& stream) {
    return events_->RecordEvent(stream);
  }

  // When all of `events` have completed; at once if they have. The callback may
  // run before this returns.
  void Watch(Events events, Callback callback);

  // As Watch, for a thread that has nothing else to do as long as `idle()`: it
  // looks for a moment itself, since to hand the wait over takes longer than
  // many a kernel. It looks for 20 us at most, and not at all where there are
  // few processors.
  void WatchClosely(Events events, Callback callback,
                    const std::function<bool()>& idle);

  // The same for all that `stream` has been given, without a mark: to record
  // one takes longer than to ask the stream. Looks once at least. Returns how
  // the work has ended, or nullopt: it is not done.
  std::optional<absl::Status> LookClosely(const cuda::Stream& stream,
                                          const std::function<bool()>& idle);

  // As Watch, for what nobody waits for: found when the device is looked at
  // anyway, else up to 0.2 ms late, or a 128th of the time
  // that it took.
  void WatchIdly(Events events, Callback callback);

  // When what `stream` has been given so far is done. Fails, without a call, if
  // the mark cannot be recorded.
  absl::Status Watch(const cuda::Stream& stream, Callback callback);

 private:
  // A wait that is not over.
  struct Entry {
    Events events;
    Callback callback;
    bool idle = false;  // nobody waits for it
  };

  // The thread's loop: looks all the time for 2 ms after a change, then with
  // pauses that grow.
  void Run();
  // Moves what was added to `entries`; waits for it if there is nothing else.
  // False: stopping.
  bool TakeAdded(std::vector<Entry>& entries);
  // Hands the wait to the thread.
  void Add(Entry entry);
  // Waits for something to be added, for so long at most.
  void Pause(absl::Duration duration);
  // Calls `look` until it returns an outcome, there is something else to do, or
  // kCloseTime is over.
  template <typename Look>
  static std::optional<absl::Status> LookUntil(
      const Look& look, const std::function<bool()>& idle);
  // How the work before `mark`, an event or a stream, has ended, if it has.
  template <typename Mark>
  std::optional<absl::Status> EndOf(const Mark& mark) const;
  // How the wait has ended, if it has; takes out the events that are done.
  std::optional<absl::Status> Outcome(Events& events) const;
  // Before anybody is told that work is done.
  void HandOnOutput() const {
    if (output_expected_) hand_on_output_();
  }
  // Is any of them not idle?
  static bool AnyAwaited(const std::vector<Entry>& entries);
  // Calls back and takes out the entries that are done; false: none is.
  bool Poll(std::vector<Entry>& entries);

  const std::function<void()> hand_on_output_;
  std::atomic<bool> output_expected_{false};
  const std::shared_ptr<EventPool> events_ = std::make_shared<EventPool>();
  std::atomic<uint32_t> changes_{0};  // of what follows
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Entry> added_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_COMPLETION_WATCHER_H_
