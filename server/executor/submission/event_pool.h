// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SUBMISSION_EVENT_POOL_H_
#define HOLDFAST_SERVER_EXECUTOR_SUBMISSION_EVENT_POOL_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/cuda/event.h"
#include "core/cuda/stream.h"

namespace holdfast::executor {

// A pool of events that mark the progress of streams. Events are reused,
// because to make an event costs as much as a launch. Thread-safe; an event in
// use keeps the pool alive.
class EventPool : public std::enable_shared_from_this<EventPool> {
 public:
  // Returns an event that was recorded at the present end of `stream`. Its last
  // owner gives it back to the pool.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> RecordEvent(
      const cuda::Stream& stream);

  // Calls `give`, which gives work to `stream`, and returns an event that was
  // recorded right after the work. Fails before `give` if there is no event,
  // and with the error of `give`. If the driver accepts the work and refuses
  // the recording, logs the refusal and returns an event that is reached: the
  // device is in error, and the work counts as given.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> RecordAfter(
      const cuda::Stream& stream, absl::FunctionRef<absl::Status()> give);

 private:
  // The most free events. Over this limit, an event that is given back is
  // destroyed.
  static constexpr size_t kMaxFree = 1024;  // of each context

  // Returns a free event of the stream's context, or a new one.
  absl::StatusOr<std::unique_ptr<cuda::Event>> Get(const cuda::Stream& stream);
  // Returns the event as one that its last owner gives back.
  std::shared_ptr<const cuda::Event> Share(std::unique_ptr<cuda::Event> event);
  // Called when the last owner releases an event.
  void GiveBack(std::unique_ptr<cuda::Event> event);

  absl::Mutex mutex_;
  std::map<const cuda::Context*, std::vector<std::unique_ptr<cuda::Event>>>
      free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_EVENT_POOL_H_
