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
#include "client/cpp/graph/definition/capture_flag.h"
#include "client/cpp/state/resource.h"
#include "client/cpp/stream_order.h"

namespace holdfast {

namespace v1 {
class Command;
}  // namespace v1

// The options of a stream. They never change.
struct StreamOptions {
  // A lower number is more urgent. The device has a range of priorities.
  int32_t priority = 0;
  // The stream synchronizes with the legacy default stream of the executor.
  bool blocking = false;
};

// An ordered queue of work on one device; there is no default stream. Made by
// Device::CreateStream. The destructor does not wait: all submitted work is
// still carried out.
//
// Thread-safe; the commands of several threads enter in some order.
//
//   HOLDFAST_RETURN_IF_ERROR(x.Upload(values, stream));
//   HOLDFAST_RETURN_IF_ERROR(
//       Launch(stream, {.grid = 196, .block = 256}, kernel, x, n));
//   HOLDFAST_RETURN_IF_ERROR(x.Download(values, stream));  // waits
//
// Only Synchronize, IsDone and calls documented to wait do wait for the daemon.
class Stream : public Resource {
 public:
  // Used by Device::CreateStream. RESOURCE_EXHAUSTED: no handle is free.
  static absl::StatusOr<Stream> Create(std::shared_ptr<SessionState> session,
                                       uint32_t device,
                                       const StreamOptions& options);

  // The ordinal of the stream's device in the session.
  uint32_t device() const { return device_; }

  // Records an event at this point of the stream: a new event or an existing
  // one. A new event has no timing unless the options ask for it.
  absl::StatusOr<Event> Record(const EventOptions& options = {}) const;
  absl::Status Record(const Event& event) const;

  // Makes later work of this stream wait for the event, or for the present work
  // of the other stream. Waiting for an event that was recorded in a capture
  // makes the stream join the capture (graph/stream_capture.h).
  absl::Status Wait(const Event& event) const;
  absl::Status Wait(const Stream& other) const;

  // Blocks until all work of the stream is finished. Returns the first failure
  // of the session's commands that was not reported yet, with the command's
  // sequence number; the commands after it were carried out. Other threads can
  // use the session meanwhile. FAILED_PRECONDITION: the stream captures.
  absl::Status Synchronize() const;
  // Returns true if all work of the stream is finished. Waits for the daemon's
  // answer, not for the work. FAILED_PRECONDITION: the stream captures.
  absl::StatusOr<bool> IsDone() const;

  // Returns true if the stream's commands are recorded for a graph, not run.
  bool IsCapturing() const;

  // Submits a command of this stream, or adds it to the capture while the
  // stream captures. `encode` and `fill`: see CommandQueue.
  absl::Status Submit(absl::FunctionRef<void(WireWriter&)> encode) const;
  absl::Status Submit(absl::FunctionRef<void(v1::Command&)> fill) const;
  // If the stream captures, returns FAILED_PRECONDITION and breaks the capture,
  // because the commands that `call` waits for were only recorded. `call` names
  // the operation in the message.
  absl::Status RefuseIfCapturing(absl::string_view call) const;

  // Orders the stream with outside work from now on; see PairStream.
  // ALREADY_EXISTS: the stream has an order already.
  absl::Status OrderWith(std::unique_ptr<StreamOrder> order) const;
  // Apply the order of OrderWith, if there is one, to commands that are
  // submitted without Submit: the caller calls Enter before, and Leave after,
  // with the outcome. Leave returns `outcome`, or the order's own error.
  absl::Status Enter() const;
  absl::Status Leave(absl::Status outcome) const;

 private:
  friend class StreamCapture;

  Stream(Resource resource, uint32_t device)
      : Resource(std::move(resource)), device_(device) {}

  // Adds the command that `encode` writes to the capture, as a message, after
  // checking it. Returns nullopt if the stream does not capture.
  std::optional<absl::Status> Capture(
      absl::FunctionRef<void(WireWriter&)> encode) const;

  // Calls StreamOrder::Abandon if there is an order.
  void Abandon() const;

  uint32_t device_;
  mutable CaptureFlag captures_;
  mutable StreamOrderSlot order_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_STREAM_H_
