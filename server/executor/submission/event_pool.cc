// SPDX-License-Identifier: Apache-2.0
#include "server/executor/submission/event_pool.h"

#include <utility>

#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast::executor {

absl::StatusOr<std::unique_ptr<cuda::Event>> EventPool::Get(
    const cuda::Stream& stream) {
  {
    absl::MutexLock lock(&mutex_);
    auto& free = free_[&stream.context()];
    if (!free.empty()) {
      std::unique_ptr<cuda::Event> event = std::move(free.back());
      free.pop_back();
      return event;
    }
  }
  return cuda::Event::Create(stream.shared_context(), {});
}

void EventPool::GiveBack(std::unique_ptr<cuda::Event> event) {
  absl::MutexLock lock(&mutex_);
  auto& free = free_[&event->context()];
  if (free.size() < kMaxFree) free.push_back(std::move(event));
}

absl::StatusOr<std::shared_ptr<const cuda::Event>> EventPool::RecordEvent(
    const cuda::Stream& stream) {
  HOLDFAST_ASSIGN_OR_RETURN(std::unique_ptr<cuda::Event> event, Get(stream));
  HOLDFAST_RETURN_IF_ERROR(event->Record(stream));
  return Share(std::move(event));
}

absl::StatusOr<std::shared_ptr<const cuda::Event>> EventPool::RecordAfter(
    const cuda::Stream& stream, absl::FunctionRef<absl::Status()> give) {
  HOLDFAST_ASSIGN_OR_RETURN(std::unique_ptr<cuda::Event> event, Get(stream));
  HOLDFAST_RETURN_IF_ERROR(give());
  const absl::Status recorded = event->Record(stream);
  if (!recorded.ok()) {
    LogWarning("the end of a stream's work is not marked: ",
               recorded.message());
  }
  return Share(std::move(event));
}

std::shared_ptr<const cuda::Event> EventPool::Share(
    std::unique_ptr<cuda::Event> event) {
  return std::shared_ptr<const cuda::Event>(
      event.release(), [pool = shared_from_this()](const cuda::Event* mark) {
        pool->GiveBack(
            std::unique_ptr<cuda::Event>(const_cast<cuda::Event*>(mark)));
      });
}

}  // namespace holdfast::executor
