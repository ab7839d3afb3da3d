// SPDX-License-Identifier: Apache-2.0
#include "server/executor/recovery/suspension.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/executor/memory/memory_image.h"

namespace holdfast::executor {
namespace {

// Empty: the buffer's bytes are in the session's own chunks.
std::string Obstacle(const BufferResource& buffer, bool memory_stays) {
  if (buffer.imported != nullptr && !memory_stays)
    return "is memory of another session";
  if (buffer.host != nullptr) return "is page-locked memory of its executor";
  if (buffer.ipc != nullptr) {
    return "was made for an IPC handle, and ends with its executor";
  }
  return "";
}

}  // namespace

// Device memory in the session's own chunks can be saved and come back. Memory
// that others share, or that ends with this process, cannot: the status names
// the first such resource.
absl::Status CheckSuspendable(Resources& resources, bool memory_stays) {
  absl::Status status;
  const auto refuse = [&status](uint64_t handle, const std::string& why) {
    if (why.empty()) return;
    status.Update(absl::FailedPreconditionError(absl::StrCat(
        DescribeHandle(handle), " cannot be suspended: it ", why)));
  };
  resources.buffers.ForEachHandle(
      [&](uint64_t handle, const BufferResource& buffer) {
        refuse(handle, Obstacle(buffer, memory_stays));
      });
  resources.semaphores.ForEachHandle(
      [&](uint64_t handle, const SemaphoreResource& semaphore) {
        refuse(handle, semaphore.imported == nullptr || memory_stays
                           ? ""
                           : "is a semaphore of another session");
      });
  resources.events.ForEachHandle(
      [&](uint64_t handle, const EventResource& event) {
        const bool others = event.imported != nullptr && !memory_stays;
        refuse(handle, others ? "is an event of another session" : "");
      });
  // A graph may keep page-locked memory beyond the life of its handle.
  if (status.ok() && resources.account().pinned_memory()->used() > 0) {
    status = absl::FailedPreconditionError(
        "page-locked memory cannot be suspended, and a graph uses some");
  }
  return status;
}

absl::Status WhenIdle(Resources& resources,
                      std::function<void(const absl::Status&)> idle) {
  CompletionWatcher::Events marks;
  for (const auto& [device, state] : resources.devices.open()) {
    HOLDFAST_ASSIGN_OR_RETURN(const cuda::Stream* all,
                              resources.AfterAllStreams(device));
    HOLDFAST_ASSIGN_OR_RETURN(auto mark, resources.watcher().RecordEvent(*all));
    marks.push_back(std::move(mark));
  }
  resources.watcher().Watch(std::move(marks), std::move(idle));
  return absl::OkStatus();
}

std::string DescribeWork(SemaphoreWaits& waits) {
  v1::SessionUsage usage;
  waits.Report(&usage);
  if (usage.waits().empty()) return "kernels or copies did not end in time";
  const v1::SemaphoreWait& wait = usage.waits(0);
  return absl::StrCat(DescribeHandle(wait.stream()), " waits for ",
                      DescribeHandle(wait.semaphore()), " to be ",
                      wait.value());
}

// A chunk's name has its device in the high half and its number there in the
// low half.
absl::Status SaveChunks(Resources& resources,
                        const internal::SaveMemory& chunks, int file) {
  MemoryCopiers copiers(resources.account().staging_memory());
  for (const internal::SavedChunk& saved : chunks.chunks()) {
    HOLDFAST_ASSIGN_OR_RETURN(
        DeviceState * device,
        resources.devices.Open(static_cast<uint32_t>(saved.chunk() >> 32)));
    const memory::Chunk* const chunk =
        device->allocator->FindChunk(static_cast<uint32_t>(saved.chunk()));
    // Was released meanwhile: nothing lies in it.
    if (chunk == nullptr) continue;
    HOLDFAST_ASSIGN_OR_RETURN(MemoryCopier * copier,
                              copiers.For(device->context));
    HOLDFAST_RETURN_IF_ERROR(copier->Save({chunk->address(), chunk->size()},
                                          {file, saved.offset()}));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::executor
