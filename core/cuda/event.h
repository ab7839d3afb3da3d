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
  // Records the time, for ElapsedMilliseconds; costs a little at each record.
  bool timing = false;
  // Synchronize sleeps rather than spins.
  bool blocking_sync = false;
};

// A point in a stream's work: cuEventCreate. Thread-safe.
//
// Holds its context. Each record moves the event to the present end of the
// stream. A wait refers to the last record before it.
class Event {
 public:
  static absl::StatusOr<std::unique_ptr<Event>> Create(
      std::shared_ptr<const Context> context, const EventOptions& options);
  // May be called before the event has completed; the driver keeps it until
  // then.
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

  // cuEventQuery: returns true if the marked work is done, or the event was
  // never recorded. May return an error of the device's earlier work, as any
  // call.
  absl::StatusOr<bool> Query() const;

  // cuEventSynchronize: blocks until Query would return true.
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

// cuEventElapsedTime, with a resolution of about 0.5 us. FAILED_PRECONDITION:
// one event has no timing or was never recorded. UNAVAILABLE: one event has not
// completed yet.
absl::StatusOr<float> ElapsedMilliseconds(const Event& start, const Event& end);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_EVENT_H_
