// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_PUBLISHED_EVENT_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_PUBLISHED_EVENT_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/cuda/stream.h"
#include "core/memory/device_allocator.h"
#include "server/sharing/event_state.h"

namespace holdfast::executor {

class Resources;

// The part of an interprocess event that other sessions see. Each recording has
// a number. The stream in which the event is recorded writes this number to a
// word of device memory when it reaches the recording. Sessions that have
// imported the event wait for this value. A page of host memory has the word
// and the number of the last recording. Each stream has its own word, because
// the values of a word must increase. Not thread-safe.
//
// CUDA's own IPC events are not used between sessions: a confined executor
// cannot open one, and a wait for an event whose process has died would never
// end.
class PublishedEvent {
 public:
  // Allocates a chunk of the device, and asks the supervisor for the page.
  // Blocks until both are there. While a session is restored, the event gets
  // its old chunk and page back. Recordings that the fault has dropped then
  // count as reached, so that no wait for them hangs.
  static absl::StatusOr<std::unique_ptr<PublishedEvent>> Create(
      Resources& resources, uint64_t handle, uint32_t device);
  PublishedEvent(const PublishedEvent&) = delete;
  PublishedEvent& operator=(const PublishedEvent&) = delete;

  // Publishes the present end of `stream` as the last recording. `handle` names
  // the stream. RESOURCE_EXHAUSTED: the event was recorded in
  // EventState::kMaxWords other streams.
  absl::Status Record(uint64_t handle, const cuda::Stream& stream);

  uint32_t device() const { return device_; }
  // The memory of the words. The owner of this object frees it.
  const memory::Allocation& allocation() const { return allocation_; }

 private:
  PublishedEvent(uint32_t device, memory::Allocation allocation,
                 FileMapping page)
      : device_(device), allocation_(allocation), page_(std::move(page)) {}

  EventState& state() const { return *static_cast<EventState*>(page_.data()); }
  // Returns the word of the stream, and assigns one at its first recording.
  absl::StatusOr<uint32_t> WordOf(uint64_t stream);

  const uint32_t device_;
  const memory::Allocation allocation_;
  const FileMapping page_;
  std::unordered_map<uint64_t, uint32_t> words_;  // by stream
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_PUBLISHED_EVENT_H_
