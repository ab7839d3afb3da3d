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
// An event. An imported event belongs to another session of this daemon.
struct EventResource {
  std::shared_ptr<cuda::Event> event;  // null: another session has it
  uint32_t device = 0;
  std::shared_ptr<PublishedEvent> published;     // null: not interprocess
  std::optional<memory::Allocation> allocation;  // where it is published
  std::shared_ptr<ImportedEvent> imported;       // of another session
};

// FAILED_PRECONDITION: the event belongs to another session, so it can only be
// waited for and queried.
absl::Status CheckOwn(uint64_t handle, const EventResource& event);
// FAILED_PRECONDITION: the event is interprocess or imported. Recording it or
// waiting for it takes more than one driver call, so graphs and launches cannot
// do it.
absl::Status CheckPlain(uint64_t handle, const EventResource& event);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_EVENT_RESOURCE_H_
