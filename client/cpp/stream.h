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
#include "client/cpp/stream_order.h"

namespace holdfast {

namespace v1 {
class Command;
}  // namespace v1

// Fixed when the stream is made.
struct StreamOptions {
  // Lower is more urgent; within the device's range.
  int32_t priority = 0;
  // Synchronises with the legacy default stream of the executor.
  bool blocking = false;
};

// An ordered queue of work on one device; there is no default stream. Made by
// Device::CreateStream. Destroying it does not wait: what it was given is still
// carried out.
//
// Any thread may use it; work of several threads enters in some order.
//
//   HOLDFAST_RETURN_IF_ERROR(x.Upload(values, stream));
//   HOLDFAST_RETURN_IF_ERROR(
//       Launch(stream, {.grid = 196, .block = 256}, kernel, x, n));
//   HOLDFAST_RETURN_IF_ERROR(x.Download(values, stream));  // waits
//
// Nothing but Synchronize, IsDone and the calls that say so waits for the
// daemon.
class Stream : public Resource {
 public:
  // Used by Device::CreateStream. RESOURCE_EXHAUSTED: no handle is free.
  static absl::StatusOr<Stream> Create(std::shared_ptr<SessionState> session,
                                       uint32_t device,
                                       const StreamOptions& options);

  // The ordinal of its device in the session.
  uint32_t device() const { return device_; }

  // Marks this place of the stream, with a new event or one that there is. A
  // new event has no timing unless the options ask for it.
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
  // FAILED_PRECONDITION: the stream captures. Any thread may wait; others go
  // on.
  absl::Status Synchronize() const;
  // Is all that the stream was given finished? Asks the daemon.
  // FAILED_PRECONDITION: the stream captures.
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

  // Orders the stream with work outside of the session from now on; see
  // PairedStream. ALREADY_EXISTS: it is ordered already.
  absl::Status OrderWith(std::unique_ptr<StreamOrder> order) const;
  // Around a call that submits commands of this stream by other means than
  // Submit. Both do nothing for a stream without an order.
  absl::Status Enter() const;
  absl::Status Leave(absl::Status outcome) const;

 private:
  friend class StreamCapture;

  Stream(Resource resource, uint32_t device)
      : Resource(std::move(resource)), device_(device) {}

  // Adds what `encode` writes to the capture; nullopt: there is none. The
  // command is checked and kept as a message.
  std::optional<absl::Status> Capture(
      absl::FunctionRef<void(WireWriter&)> encode) const;

  void Abandon() const;

  uint32_t device_;
  mutable CaptureFlag captures_;
  mutable StreamOrderSlot order_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_STREAM_H_
