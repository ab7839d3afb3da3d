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
#include "server/executor/resources/stream_progress.h"

namespace holdfast::executor {

class PublishedEvent;
// An event of this session, or an imported event, which belongs to another
// session of this daemon.
struct EventResource {
  std::shared_ptr<cuda::Event> event;  // null: the event is imported
  uint32_t device = 0;
  std::shared_ptr<PublishedEvent> published;     // null: not interprocess
  std::optional<memory::Allocation> allocation;  // the words of `published`
  // Where the last RecordEvent command recorded the event.
  StreamPoint recorded;
  // True if a graph or a launch may have recorded the event: `recorded` may
  // then be out of date.
  bool recorded_by_work = false;
  std::shared_ptr<ImportedEvent> imported;  // null: not imported
};

// Checks that the event may be recorded. `handle` names it in errors.
// FAILED_PRECONDITION: the event belongs to another session, so it can only be
// waited for and queried.
absl::Status CheckOwn(uint64_t handle, const EventResource& event);
// Checks that a graph or a launch may use the event. FAILED_PRECONDITION: the
// event is interprocess or imported. To record it or to wait for it takes more
// than one driver call, so graphs and launches cannot do it.
absl::Status CheckPlain(uint64_t handle, const EventResource& event);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_EVENT_RESOURCE_H_
