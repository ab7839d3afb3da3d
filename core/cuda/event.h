// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_EVENT_H_
#define HOLDFAST_CORE_CUDA_EVENT_H_

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "cuda.h"

namespace holdfast::cuda {

class Stream;

struct EventOptions {
  // Each record stores the time, for ElapsedMilliseconds. This slows records a
  // little.
  bool timing = false;
  // Synchronize sleeps instead of polling.
  bool blocking_sync = false;
};

// A point in a stream's work: cuEventCreate. Thread-safe.
//
// Keeps its context alive. Each record moves the event to the present end of a
// stream. A wait refers to the last record before the wait.
class Event {
 public:
  // Makes an event that is not recorded. Fails as the driver does.
  static absl::StatusOr<std::unique_ptr<Event>> Create(
      std::shared_ptr<const Context> context, const EventOptions& options);
  // May run before the event has completed: the driver then keeps the event
  // until it completes.
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Valid as long as the event.
  CUevent handle() const { return handle_; }
  const Context& context() const { return *context_; }
  const EventOptions& options() const { return options_; }
  // True if a Record or a graph of this process has recorded the event.
  bool recorded() const { return recorded_; }

  // cuEventRecord: marks the present end of `stream`, in place of an earlier
  // record. The driver refuses a stream of another context.
  absl::Status Record(const Stream& stream);

  // Notes that a launched graph records the event.
  void SetRecorded() { recorded_ = true; }

  // Returns true if the marked work is done, or if the event was never
  // recorded: cuEventQuery. May return an error of the device's earlier work.
  // Does not block.
  absl::StatusOr<bool> Query() const;

  // Blocks until Query would return true: cuEventSynchronize. Fails as Query
  // does.
  absl::Status Synchronize() const;

 private:
  Event(std::shared_ptr<const Context> context, const EventOptions& options,
        CUevent handle)
      : context_(std::move(context)), options_(options), handle_(handle) {}

  const std::shared_ptr<const Context> context_;
  const EventOptions options_;
  const CUevent handle_;
  std::atomic<bool> recorded_{false};
};

// Returns the milliseconds from the record of `start` to the record of `end`,
// with a resolution of about 0.5 us: cuEventElapsedTime. FAILED_PRECONDITION:
// an event has no timing or was never recorded. UNAVAILABLE: an event has not
// completed yet.
absl::StatusOr<float> ElapsedMilliseconds(const Event& start, const Event& end);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_EVENT_H_
