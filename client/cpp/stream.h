// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_STREAM_H_
#define HOLDFAST_CLIENT_CPP_STREAM_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/event.h"
#include "client/cpp/graph/capture_flag.h"
#include "client/cpp/resource.h"

namespace holdfast {

namespace v1 {
class Command;
}  // namespace v1

struct StreamOptions {
  // Lower is more urgent; within the device's range.
  int32_t priority = 0;
  // Synchronises with the legacy default stream of the executor.
  bool blocking = false;
};

// An ordered queue of work on one device; there is no default stream. Made by
// Device::CreateStream. Destroying it does not wait: what it was given is still
// carried out.
class Stream : public Resource {
 public:
  static absl::StatusOr<Stream> Create(std::shared_ptr<SessionState> session,
                                       uint32_t device,
                                       const StreamOptions& options);

  uint32_t device() const { return device_; }

  // Marks this place of the stream, with a new event or one that there is.
  absl::StatusOr<Event> Record(const EventOptions& options = {}) const;
  absl::Status Record(const Event& event) const;

  // Work that the stream is given from now on waits for the event, or for what
  // the other stream was given so far. Waiting for an event that was recorded
  // in a capture takes the stream into the capture (graph/stream_capture.h).
  absl::Status Wait(const Event& event) const;
  absl::Status Wait(const Stream& other) const;

  // Waits until all that the stream was given is finished. Reports the first
  // failure of the session's commands that nobody was told of yet, with its
  // sequence number; the commands after it were carried out.
  absl::Status Synchronize() const;
  // Is all that the stream was given finished?
  absl::StatusOr<bool> IsDone() const;

  // Is what the stream is given recorded for a graph, rather than carried out?
  bool IsCapturing() const;

  // Submits a command of this stream or, while the stream captures, adds it to
  // the capture. `encode` and `fill` as CommandQueue has them.
  absl::Status Submit(absl::FunctionRef<void(WireWriter&)> encode) const;
  absl::Status Submit(absl::FunctionRef<void(v1::Command&)> fill) const;
  // FAILED_PRECONDITION while the stream captures: `call` needs what is only
  // recorded to have run. Breaks the capture.
  absl::Status RefuseIfCapturing(absl::string_view call) const;

 private:
  friend class StreamCapture;

  Stream(Resource resource, uint32_t device)
      : Resource(std::move(resource)), device_(device) {}

  // Adds what `encode` writes to the capture; nullopt: there is none.
  std::optional<absl::Status> Capture(
      absl::FunctionRef<void(WireWriter&)> encode) const;

  uint32_t device_;
  mutable CaptureFlag captures_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_STREAM_H_
