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

// The part of an interprocess event that other sessions see. A recording gets a
// number, which its stream writes to a word of device memory when it comes to
// the recording; importers wait for that. The page of host memory tells them
// the last recording's word and number. Streams have words of their own, since
// the values of one word have to rise.
//
// CUDA's own IPC events are not used between sessions: a confined executor
// cannot open one, and nobody can end the waits for one whose maker has died.
class PublishedEvent {
 public:
  // Takes a chunk of the device and asks the supervisor for the page. While a
  // session is restored, both are those that the event had, and recordings that
  // the fault has dropped count as reached, so that nothing waits for them.
  static absl::StatusOr<std::unique_ptr<PublishedEvent>> Create(
      Resources& resources, uint64_t handle, uint32_t device);
  PublishedEvent(const PublishedEvent&) = delete;
  PublishedEvent& operator=(const PublishedEvent&) = delete;

  // Publishes what `stream` has been given so far as the last recording.
  // `handle` names the stream. RESOURCE_EXHAUSTED: the event was recorded in
  // EventState::kMaxWords other streams.
  absl::Status Record(uint64_t handle, const cuda::Stream& stream);

  uint32_t device() const { return device_; }
  const memory::Allocation& allocation() const { return allocation_; }

 private:
  PublishedEvent(uint32_t device, memory::Allocation allocation,
                 FileMapping page)
      : device_(device), allocation_(allocation), page_(std::move(page)) {}

  EventState& state() const { return *static_cast<EventState*>(page_.data()); }
  absl::StatusOr<uint32_t> WordOf(uint64_t stream);

  const uint32_t device_;
  const memory::Allocation allocation_;
  const FileMapping page_;
  std::unordered_map<uint64_t, uint32_t> words_;  // by stream
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_PUBLISHED_EVENT_H_
