// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_IMPORTS_EVENT_WAITS_H_
#define HOLDFAST_SERVER_EXECUTOR_IMPORTS_EVENT_WAITS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/cuda/event.h"
#include "server/executor/imports/imported_event.h"
#include "server/sharing/event_state.h"

namespace holdfast::executor {

// The waits for events of other sessions that streams of this one have not come
// past. A thread looks at them from time to time, and reports those whose event
// was abandoned: nothing else would ever end them. Thread-safe.
class EventWaits {
 public:
  struct Wait {
    std::shared_ptr<ImportedEvent> event;
    EventRecording recording;
    // Marks the stream right behind the wait.
    std::shared_ptr<const cuda::Event> passed;
  };
  // A wait ends at most this much later than the session that made its event.
  static constexpr absl::Duration kPeriod = absl::Milliseconds(20);

  // `abandoned` is called by the thread, again in each period until the waits
  // are over.
  explicit EventWaits(std::function<void(std::vector<Wait>)> abandoned)
      : abandoned_(std::move(abandoned)) {}
  ~EventWaits();
  EventWaits(const EventWaits&) = delete;
  EventWaits& operator=(const EventWaits&) = delete;

  // Starts the thread, if it is not there. Called before a stream is made to
  // wait. RESOURCE_EXHAUSTED: the system allows no thread.
  absl::Status Start();
  // REQUIRES: Start has returned OK.
  void Add(Wait wait);

 private:
  // Waits that are kept before one more looks for those that are over.
  static constexpr size_t kLookFrom = 8192;

  void RemovePassed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns false when stopping.
  bool AwaitNextLook();
  std::vector<Wait> TakeAbandoned();
  void Run();

  const std::function<void(std::vector<Wait>)> abandoned_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Wait> waits_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_IMPORTS_EVENT_WAITS_H_
