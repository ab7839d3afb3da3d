// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_EVENT_H_
#define HOLDFAST_CLIENT_CPP_EVENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/resource.h"
#include "client/cpp/sharing/export.h"

namespace holdfast {

struct EventOptions {
  // Can be asked for elapsed time.
  bool timing = false;
  // The executor sleeps rather than spins while it waits for the event.
  bool blocking_sync = false;
  // Can be exported to other sessions and processes; excludes timing, and takes
  // 2 MiB of the device. Graphs cannot use it.
  bool interprocess = false;
};

// A mark in a stream. Made by Device::CreateEvent or Stream::Record.
class Event : public Resource {
 public:
  static absl::StatusOr<Event> Create(std::shared_ptr<SessionState> session,
                                      uint32_t device,
                                      const EventOptions& options);
  // An event that another session has exported. This one's streams wait for it;
  // only its maker records it. Blocks until it is imported.
  static absl::StatusOr<Event> Import(std::shared_ptr<SessionState> session,
                                      uint32_t device, absl::string_view token);
  // An event of a process outside Holdfast on the daemon's machine, by the 64
  // bytes of its cuIpcGetEventHandle. It is lost with a fault of this session,
  // and is gone with its process. FAILED_PRECONDITION: the daemon is on another
  // machine. INVALID_ARGUMENT: its driver does not open the handle; executors
  // of the software device are too confined to. Blocks until it is imported.
  static absl::StatusOr<Event> ImportIpcHandle(
      std::shared_ptr<SessionState> session, uint32_t device,
      absl::string_view handle);

  // A token for other sessions; see ExportResource. REQUIRES of the options:
  // Rights::kRead and no range. An importer's stream that waits sees what the
  // recording stream did before. Recordings that the daemon has processed
  // count: an importer told of one by other means waits for it if this session
  // has had an answer since (Fence, IsDone). FAILED_PRECONDITION: the event is
  // not interprocess.
  absl::StatusOr<std::string> Export(const ExportOptions& options = {}) const {
    return ExportResource(*this, options);
  }
  // 64 bytes with which a process of the daemon's machine opens the event by
  // cuIpcOpenEventHandle, until the event or its executor ends; a fault ends
  // the executor. FAILED_PRECONDITION: as Export.
  absl::StatusOr<std::string> IpcHandle() const;

  // Waits for the last recording, and reports what failed before it.
  absl::Status Synchronize() const;
  // Has the last recording been reached?
  absl::StatusOr<bool> IsDone() const;

  // Milliseconds from `start`'s recording to this one's. FAILED_PRECONDITION:
  // one has no timing or was never recorded; UNAVAILABLE: not finished yet.
  absl::StatusOr<float> MillisecondsSince(const Event& start) const;
  // Synchronize of both events and MillisecondsSince, in one round trip.
  absl::StatusOr<float> AwaitMillisecondsSince(const Event& start) const;

 private:
  explicit Event(Resource resource) : Resource(std::move(resource)) {}

  // FAILED_PRECONDITION if the last recording is one of a capture.
  absl::Status RefuseIfCaptured(absl::string_view call) const;
  // `wait`: until both have been reached.
  absl::StatusOr<float> Elapsed(const Event& start, bool wait) const;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_EVENT_H_
