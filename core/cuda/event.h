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
  // Can be subtracted by ElapsedMilliseconds; costs a little at each record.
  bool timing = false;
  // Synchronize sleeps rather than spins.
  bool blocking_sync = false;
  // Other processes can open it (IpcHandle), if the driver can make such;
  // excludes timing.
  bool interprocess = false;
};

// A point in a stream's work: cuEventCreate. Thread-safe.
//
// Holds its context. Recording takes the event's place in the stream at the
// time of the call, so that one event may mark one point after another; a wait
// refers to the last record before it.
class Event {
 public:
  // Falls back to an event without a handle if the driver cannot make an
  // interprocess one; options() then says so.
  static absl::StatusOr<std::unique_ptr<Event>> Create(
      std::shared_ptr<const Context> context, const EventOptions& options);
  // cuIpcOpenEventHandle: an event of another process, which made it
  // interprocess. `handle` may be anything. FAILED_PRECONDITION: this process
  // is too confined for it.
  static absl::StatusOr<std::unique_ptr<Event>> OpenIpc(
      std::shared_ptr<const Context> context, const CUipcEventHandle& handle);
  // May be called before the event has completed; the driver keeps it until
  // then.
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Valid as long as the event.
  CUevent handle() const { return handle_; }
  const Context& context() const { return *context_; }
  const EventOptions& options() const { return options_; }
  // Some Record or graph has marked it, in this process.
  bool recorded() const { return recorded_; }

  // cuEventRecord: marks what `stream` has been given so far, in place of any
  // earlier record. REQUIRES: the stream is of the event's context, or the
  // driver refuses.
  absl::Status Record(const Stream& stream);

  // A graph that was launched records it.
  void SetRecorded() { recorded_ = true; }

  // True if all that was marked is done, or nothing was: cuEventQuery. An error
  // of the device's earlier work may come out here, as from any call.
  absl::StatusOr<bool> Query() const;

  // Blocks until then: cuEventSynchronize.
  absl::Status Synchronize() const;

  // cuIpcGetEventHandle: 64 bytes with which another process of the machine
  // opens the event, as long as it lives. FAILED_PRECONDITION: the event is not
  // interprocess, or the driver could make none in this process. UNIMPLEMENTED:
  // the driver has no such handles.
  absl::StatusOr<CUipcEventHandle> IpcHandle() const;

 private:
  Event(std::shared_ptr<const Context> context, const EventOptions& options,
        CUevent handle)
      : context_(std::move(context)), options_(options), handle_(handle) {}

  const std::shared_ptr<const Context> context_;
  const EventOptions options_;
  const CUevent handle_;
  std::atomic<bool> recorded_{false};
};

// cuEventElapsedTime, about 0.5 us fine. FAILED_PRECONDITION: one of them has
// no timing or was never recorded. UNAVAILABLE: one has not completed yet.
absl::StatusOr<float> ElapsedMilliseconds(const Event& start, const Event& end);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_EVENT_H_
