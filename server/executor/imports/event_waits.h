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

// The unfinished waits of this session's streams for events of other sessions.
// A thread checks them periodically, and reports the waits for events that were
// abandoned (ImportedEvent::abandoned), because nothing else would end these
// waits. Thread-safe.
class EventWaits {
 public:
  struct Wait {
    std::shared_ptr<ImportedEvent> event;
    EventRecording recording;
    // An event that was recorded in the stream right after the wait.
    std::shared_ptr<const cuda::Event> passed;
  };
  // The time between two checks: the longest time from the end of a session
  // until the waits for its events are reported.
  static constexpr absl::Duration kPeriod = absl::Milliseconds(20);

  // The thread calls `abandoned` with the waits for abandoned events, in each
  // period until the waits are over.
  explicit EventWaits(std::function<void(std::vector<Wait>)> abandoned)
      : abandoned_(std::move(abandoned)) {}
  ~EventWaits();
  EventWaits(const EventWaits&) = delete;
  EventWaits& operator=(const EventWaits&) = delete;

  // Starts the thread unless it runs. Must be called before a wait is enqueued
  // in a stream. RESOURCE_EXHAUSTED: the system allows no thread.
  absl::Status Start();
  // Adds a wait. REQUIRES: Start has returned OK.
  void Add(Wait wait);

 private:
  // Add removes finished waits each time when the list has grown to a multiple
  // of this number.
  static constexpr size_t kLookFrom = 8192;

  void RemovePassed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blocks until there are waits and kPeriod has passed. Returns false when
  // this object is being destroyed.
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
