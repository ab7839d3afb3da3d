// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SUBMISSION_EVENT_POOL_H_
#define HOLDFAST_SERVER_EXECUTOR_SUBMISSION_EVENT_POOL_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/cuda/event.h"
#include "core/cuda/stream.h"

namespace holdfast::executor {

// Events that are recorded to know how far a stream has come. They are reused,
// since making one costs as much as a launch. Thread-safe; lives as long as the
// events that it gave out.
class EventPool : public std::enable_shared_from_this<EventPool> {
 public:
  // Returns an event that is recorded behind all that `stream` has been given.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> RecordEvent(
      const cuda::Stream& stream);

 private:
  // Events beyond it are destroyed when they come back.
  static constexpr size_t kMaxFree = 1024;  // of each context

  // A free event of the stream's context, or a new one.
  absl::StatusOr<std::unique_ptr<cuda::Event>> Get(const cuda::Stream& stream);
  // Called when the last holder lets go of an event.
  void GiveBack(std::unique_ptr<cuda::Event> event);

  absl::Mutex mutex_;
  std::map<const cuda::Context*, std::vector<std::unique_ptr<cuda::Event>>>
      free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_EVENT_POOL_H_
