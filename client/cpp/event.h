// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_EVENT_H_
#define HOLDFAST_CLIENT_CPP_EVENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/sharing/export.h"
#include "client/cpp/state/resource.h"

namespace holdfast {

struct EventOptions {
  // The event stores its time, so that MillisecondsSince can use it.
  bool timing = false;
  // The executor sleeps rather than spins while it waits for the event.
  bool blocking_sync = false;
  // The event can be exported to other sessions and processes. It cannot have
  // timing, takes 2 MiB of the device, and cannot be used in graphs.
  bool interprocess = false;
};

// A mark in a stream's work. Made by Device::CreateEvent or Stream::Record.
class Event : public Resource {
 public:
  static absl::StatusOr<Event> Create(std::shared_ptr<SessionState> session,
                                      uint32_t device,
                                      const EventOptions& options);
  // Imports an event that another session has exported. Streams of this session
  // can wait for it; only the exporting session records it. Waits.
  static absl::StatusOr<Event> Import(std::shared_ptr<SessionState> session,
                                      uint32_t device, absl::string_view token);
  // Returns a token for other sessions; see ExportResource. A stream of an
  // importer that has waited for the event sees all earlier work of the
  // recording stream. An importer waits for the last recording that the daemon
  // has processed, so call Fence or IsDone after Record, before the importer
  // waits. FAILED_PRECONDITION: the event is not interprocess. REQUIRES: the
  // options have Rights::kRead and no range.
  absl::StatusOr<std::string> Export(const ExportOptions& options = {}) const {
    return ExportResource(*this, options);
  }
  // Blocks until the last recording has been reached, and reports failures of
  // earlier commands. FAILED_PRECONDITION: the last recording is part of a
  // capture.
  absl::Status Synchronize() const;
  // Returns true if the last recording has been reached. FAILED_PRECONDITION:
  // as Synchronize.
  absl::StatusOr<bool> IsDone() const;

  // Returns the milliseconds from the recording of `start` to the recording of
  // this event. Waits for the daemon, but not for the recordings.
  // FAILED_PRECONDITION: one of the events has no timing, was never recorded,
  // or was recorded in a capture. UNAVAILABLE: a recording has not been reached
  // yet.
  absl::StatusOr<float> MillisecondsSince(const Event& start) const;
  // Blocks until both recordings have been reached, and returns the same time,
  // in one round trip.
  absl::StatusOr<float> AwaitMillisecondsSince(const Event& start) const;

 private:
  explicit Event(Resource resource) : Resource(std::move(resource)) {}

  // Fails with FAILED_PRECONDITION if the last recording is part of a capture.
  // `call` names the operation in the message.
  absl::Status RefuseIfCaptured(absl::string_view call) const;
  // `wait`: blocks until both events have been reached.
  absl::StatusOr<float> Elapsed(const Event& start, bool wait) const;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_EVENT_H_
