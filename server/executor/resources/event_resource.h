// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_EVENT_RESOURCE_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_EVENT_RESOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "core/cuda/event.h"
#include "core/memory/device_allocator.h"
#include "server/executor/imports/imported_event.h"

namespace holdfast::executor {

// See event_commands.cc.
class PublishedEvent;
// The event of an imported one is that of another session of this daemon, or of
// a process outside.
struct EventResource {
  std::shared_ptr<cuda::Event> event;  // null: of another session
  uint32_t device = 0;
  std::shared_ptr<PublishedEvent> published;     // null: not interprocess
  std::optional<memory::Allocation> allocation;  // where it is published
  std::shared_ptr<ImportedEvent> imported;       // of another session
  bool foreign = false;  // of a process outside Holdfast
};

// FAILED_PRECONDITION: the event is another session's, so that it can be waited
// for and asked whether it is done, and nothing else.
absl::Status CheckOwn(uint64_t handle, const EventResource& event);
// FAILED_PRECONDITION: recording or waiting takes more than a call of the
// driver's, so that neither graphs nor launches can do it.
absl::Status CheckPlain(uint64_t handle, const EventResource& event);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_EVENT_RESOURCE_H_
