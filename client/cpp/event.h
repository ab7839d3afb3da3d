// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_EVENT_H_
#define HOLDFAST_CLIENT_CPP_EVENT_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/resource.h"

namespace holdfast {

struct EventOptions {
  // Can be asked for elapsed time.
  bool timing = false;
  // The executor sleeps rather than spins while it waits for the event.
  bool blocking_sync = false;
  // Can be shared with other processes; excludes timing.
  bool interprocess = false;
};

// A mark in a stream. Made by Device::CreateEvent or Stream::Record.
class Event : public Resource {
 public:
  static absl::StatusOr<Event> Create(std::shared_ptr<SessionState> session,
                                      uint32_t device,
                                      const EventOptions& options);

  // Waits for the last recording, and reports what failed before it.
  absl::Status Synchronize() const;
  // Has the last recording been reached?
  absl::StatusOr<bool> IsDone() const;

  // Milliseconds from `start`'s recording to this one's. FAILED_PRECONDITION:
  // one has no timing or was never recorded; UNAVAILABLE: not finished yet.
  absl::StatusOr<float> MillisecondsSince(const Event& start) const;

 private:
  explicit Event(Resource resource) : Resource(std::move(resource)) {}

  // FAILED_PRECONDITION if the last recording is one of a capture.
  absl::Status RefuseIfCaptured(absl::string_view call) const;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_EVENT_H_
