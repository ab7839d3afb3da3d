// SPDX-License-Identifier: Apache-2.0
//
// The commands of semaphore_commands.proto. A semaphore is 8 bytes of device
// memory in a chunk of its own, so that an importer reaches no other one.
// Streams write and wait for it by themselves. The host's own reads and writes
// go through a stream of each device that nothing else uses and nothing blocks.
#include <cstring>
#include <utility>

#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "core/cuda/stream_value.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/imports/semaphore_waits.h"
#include "server/executor/sharing/semaphore_operands.h"

namespace holdfast::executor {
namespace {

absl::StatusOr<SemaphoreResource> Make(Resources& resources,
                                       const v1::CreateSemaphore& command) {
  SemaphoreResource semaphore;
  semaphore.device = command.device();
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Stream* host,
                            resources.devices.HostStream(command.device()));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(command.device()));
  HOLDFAST_ASSIGN_OR_RETURN(
      semaphore.allocation,
      resources.devices.Allocate(command.semaphore(), command.device(),
                                 sizeof(uint64_t), /*stream=*/nullptr,
                                 /*alone=*/true));
  semaphore.address = semaphore.allocation->address;
  // It has its value still.
  if (resources.devices.restoring()) return semaphore;
  absl::Status status =
      cuda::WriteValueAsync(*host, semaphore.address, command.initial_value());
  // No stream may find what lay there before. Takes microseconds, once.
  status.Update(host->Synchronize());
  if (status.ok()) return semaphore;
  status.Update(device->allocator->Free(*semaphore.allocation, nullptr));
  return status;
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::CreateSemaphore& command) {
  Resources& resources = context.resources;
  return Create(resources.semaphores, command.semaphore(),
                [&] { return Make(resources, command); });
}

absl::Status Handle(const CommandContext& context,
                    const v1::DestroySemaphore& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(auto semaphore,
                            resources.semaphores.Take(command.semaphore()));
  if (!semaphore.has_value()) return absl::OkStatus();
  return resources.DestroySemaphore(*std::move(semaphore));
}

absl::Status Handle(const CommandContext& context,
                    const v1::SignalSemaphore& command) {
  Resources& resources = context.resources;
  const cuda::Stream* stream = nullptr;
  uint32_t device = 0;
  if (command.stream() == 0) {
    HOLDFAST_ASSIGN_OR_RETURN(SemaphoreResource * found,
                              resources.semaphores.Find(command.semaphore()));
    device = found->device;
    HOLDFAST_ASSIGN_OR_RETURN(stream, resources.devices.HostStream(device));
  } else {
    HOLDFAST_ASSIGN_OR_RETURN(StreamResource * found,
                              resources.streams.Find(command.stream()));
    device = found->device;
    stream = found->stream.get();
    found->progress.NoteGiven(context.sequence);
  }
  HOLDFAST_ASSIGN_OR_RETURN(SemaphoreResource * semaphore,
                            ResolveSemaphore({resources, device}, command));
  return cuda::WriteValueAsync(*stream, semaphore->address, command.value());
}

absl::Status Handle(const CommandContext& context,
                    const v1::WaitSemaphore& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.streams.Find(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(
      SemaphoreResource * semaphore,
      ResolveSemaphore({resources, stream->device}, command));
  HOLDFAST_RETURN_IF_ERROR(resources.waits().CheckRoom());
  stream->progress.NoteGiven(context.sequence);
  HOLDFAST_ASSIGN_OR_RETURN(
      auto passed, resources.watcher().RecordAfter(*stream->stream, [&] {
        return cuda::WaitValueAsync(*stream->stream, semaphore->address,
                                    command.value());
      }));
  resources.waits().Add(command.semaphore(), command.stream(), command.value(),
                        std::move(passed));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::ReadSemaphore& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(SemaphoreResource * semaphore,
                            resources.semaphores.Find(command.semaphore()));
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Stream* host,
                            resources.devices.HostStream(semaphore->device));
  HOLDFAST_ASSIGN_OR_RETURN(InlineStaging * space, resources.Inline());
  HOLDFAST_ASSIGN_OR_RETURN(const InlineStaging::Span span,
                            space->Take(sizeof(uint64_t)));
  HOLDFAST_RETURN_IF_ERROR(cuda::CopyAsync(
      *host, span.device_address, semaphore->address, sizeof(uint64_t)));
  return resources.watcher().Watch(
      *host, [span, reply = context.ReplyLater()](const absl::Status& status) {
        v1::Result result;
        uint64_t value = 0;
        std::memcpy(&value, span.data, sizeof value);
        result.mutable_semaphore()->set_value(value);
        reply(status, std::move(result));
      });
}

}  // namespace holdfast::executor
