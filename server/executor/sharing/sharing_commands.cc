// SPDX-License-Identifier: Apache-2.0
//
// The commands of sharing_commands.proto. The supervisor makes tokens and
// redeems them; here resources become requests to it, and its answers
// resources.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/handle.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/imports/imported_event.h"
#include "server/executor/imports/imported_memory.h"
#include "server/executor/sharing/foreign_memory.h"
#include "server/executor/sharing/reopen.h"

namespace holdfast::executor {
namespace {

constexpr size_t kTokenBytes = 16;

// The buffer that owns the memory of `handle`, which may be a part of it.
absl::StatusOr<BufferResource*> OwnerOf(Resources& resources, uint64_t handle) {
  while (true) {
    HOLDFAST_ASSIGN_OR_RETURN(BufferResource * buffer,
                              resources.buffers.Find(handle));
    if (buffer->parent == 0) return buffer;
    handle = buffer->parent;
  }
}

absl::Status ImportedError(uint64_t handle) {
  return absl::FailedPreconditionError(
      absl::StrCat(DescribeHandle(handle),
                   " was imported; the session that made it exports it"));
}

absl::Status CheckExportable(const v1::ExportResource& command,
                             const BufferResource& owner) {
  const uint64_t handle = command.resource();
  if (owner.imported != nullptr) {
    // The supervisor knows whether it is of a collection.
    if (command.foreign() == v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR) {
      return absl::OkStatus();
    }
    return ImportedError(handle);
  }
  if (owner.sharing == v1::SHARING_EXPORT) return absl::OkStatus();
  if (command.with_neighbours() && owner.allocation.has_value() &&
      owner.size > 0 && command.foreign() == v1::FOREIGN_HANDLE_UNSPECIFIED) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      DescribeHandle(handle), " was not allocated with SHARING_EXPORT, as ",
      "Device::AllocateShared and hf_buffer_allocate_shared do"));
}

// A range that is exported, as the supervisor names it: in a chunk of this
// session, or in an import. `request` lacks the terms.
struct ExportedRange {
  internal::ExportRequest request;
  // Where it lies in what a foreign process maps, and how large that is.
  uint64_t mapped_offset = 0;
  uint64_t mapped_size = 0;
};

ExportedRange InChunk(uint32_t device, const memory::Block& chunk,
                      uint64_t offset, uint64_t size) {
  ExportedRange range{.mapped_offset = offset, .mapped_size = chunk.size};
  range.request.set_chunk(ChunkName(device, chunk.span));
  range.request.set_offset(offset);
  range.request.set_size(size);
  return range;
}

ExportedRange InImport(const ImportedMemory& memory, uint64_t offset,
                       uint64_t size) {
  ExportedRange range{.mapped_offset = memory.offset() + offset,
                      .mapped_size = memory.mapped_size()};
  range.request.set_import(memory.import());
  range.request.set_offset(offset);
  range.request.set_size(size);
  return range;
}

absl::StatusOr<ExportedRange> RangeOfBuffer(Resources& resources,
                                            const v1::ExportResource& command) {
  const uint64_t handle = command.resource();
  HOLDFAST_ASSIGN_OR_RETURN(const BufferResource* owner,
                            OwnerOf(resources, handle));
  HOLDFAST_RETURN_IF_ERROR(CheckExportable(command, *owner));
  HOLDFAST_ASSIGN_OR_RETURN(const BufferResource* buffer,
                            resources.buffers.Find(handle));
  HOLDFAST_RETURN_IF_ERROR(cuda::CheckRange(
      DescribeHandle(handle), command.offset(), command.size(), buffer->size));
  const uint64_t offset = buffer->address - owner->address + command.offset();
  const uint64_t size =
      command.size() != 0 ? command.size() : buffer->size - command.offset();
  if (owner->imported != nullptr) {
    return InImport(*owner->imported, offset, size);
  }
  const memory::Block& block = owner->allocation->block;
  return InChunk(owner->device, block, block.offset + offset, size);
}

absl::StatusOr<ExportedRange> RangeOfSemaphore(
    Resources& resources, const v1::ExportResource& command) {
  HOLDFAST_ASSIGN_OR_RETURN(const SemaphoreResource* semaphore,
                            resources.semaphores.Find(command.resource()));
  if (semaphore->imported != nullptr) return ImportedError(command.resource());
  return InChunk(semaphore->device, semaphore->allocation->block, /*offset=*/0,
                 sizeof(uint64_t));
}

// The words in which an event is published.
absl::StatusOr<ExportedRange> RangeOfEvent(Resources& resources,
                                           const v1::ExportResource& command) {
  const uint64_t handle = command.resource();
  HOLDFAST_ASSIGN_OR_RETURN(const EventResource* event,
                            resources.events.Find(handle));
  if (event->imported != nullptr) return ImportedError(handle);
  if (!event->allocation.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        DescribeHandle(handle), " was not created as interprocess"));
  }
  if (command.foreign() == v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR) {
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeHandle(handle),
                     " is exported to processes outside Holdfast with "
                     "FOREIGN_HANDLE_IPC: an event has no descriptor"));
  }
  return InChunk(event->device, event->allocation->block, /*offset=*/0,
                 event->allocation->size);
}

absl::StatusOr<ExportedRange> RangeOf(Resources& resources,
                                      const v1::ExportResource& command) {
  const HandleKind kind = holdfast::Handle::Unpack(command.resource()).kind;
  if (kind == HandleKind::kBuffer) return RangeOfBuffer(resources, command);
  if (kind == HandleKind::kSemaphore) {
    return RangeOfSemaphore(resources, command);
  }
  if (kind == HandleKind::kEvent) return RangeOfEvent(resources, command);
  return absl::InvalidArgumentError(
      absl::StrCat(DescribeHandle(command.resource()),
                   " cannot be exported: buffers, events and semaphores can"));
}

v1::HandleKind KindOf(uint64_t handle) {
  return static_cast<v1::HandleKind>(holdfast::Handle::Unpack(handle).kind);
}

absl::Status CheckToken(const std::string& token) {
  if (token.size() == kTokenBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the token has ", token.size(),
                                                 " bytes, not ", kTokenBytes));
}

// The memory that the token stands for, for the command's device.
absl::StatusOr<std::shared_ptr<ImportedMemory>> Import(
    Resources& resources, const v1::ImportResource& command) {
  if (resources.devices.restoring()) {
    return Reopen(resources, command.resource(), command.device());
  }
  if (command.has_memory()) return ImportForeign(resources, command);
  if (!command.has_token()) {
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeHandle(command.resource()),
                     " is to be imported from nothing that it could be: a "
                     "token, memory, or an event's handle"));
  }
  HOLDFAST_RETURN_IF_ERROR(CheckToken(command.token()));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(command.device()));
  internal::SharingRequest request;
  request.mutable_import_resource()->set_token(command.token());
  request.mutable_import_resource()->set_kind(KindOf(command.resource()));
  HOLDFAST_ASSIGN_OR_RETURN(SharingAnswer answer,
                            resources.sharing().ask(request, -1));
  return ImportedMemory::Map(device->context, {device->allocator->addresses()},
                             std::move(answer), resources.sharing().released);
}

absl::StatusOr<BufferResource> ImportBuffer(Resources& resources,
                                            const v1::ImportResource& command) {
  BufferResource buffer;
  HOLDFAST_ASSIGN_OR_RETURN(buffer.imported, Import(resources, command));
  buffer.address = buffer.imported->address();
  buffer.size = buffer.imported->size();
  buffer.read_only = buffer.imported->read_only();
  buffer.device = command.device();
  return buffer;
}

absl::StatusOr<SemaphoreResource> ImportSemaphore(
    Resources& resources, const v1::ImportResource& command) {
  SemaphoreResource semaphore;
  HOLDFAST_ASSIGN_OR_RETURN(semaphore.imported, Import(resources, command));
  semaphore.address = semaphore.imported->address();
  semaphore.read_only = semaphore.imported->read_only();
  semaphore.device = command.device();
  return semaphore;
}

absl::StatusOr<EventResource> ImportEvent(Resources& resources,
                                          const v1::ImportResource& command) {
  EventResource event;
  event.device = command.device();
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(command.device()));
  HOLDFAST_ASSIGN_OR_RETURN(std::shared_ptr<ImportedMemory> words,
                            Import(resources, command));
  HOLDFAST_ASSIGN_OR_RETURN(
      event.imported, ImportedEvent::Open(device->context, std::move(words),
                                          resources.sharing()));
  return event;
}

v1::Result ImportResult(const ImportedMemory& memory) {
  v1::Result result;
  result.mutable_imported()->set_size(memory.size());
  result.mutable_imported()->set_rights(
      memory.read_only() ? v1::RIGHTS_READ : v1::RIGHTS_READ_WRITE);
  return result;
}

// Answers with the 64 bytes that other processes of the machine open. They have
// no token: they are good as long as the buffer lives.
absl::Status ExportIpcHandle(const CommandContext& context,
                             const v1::ExportResource& command) {
  const uint64_t handle = command.resource();
  Resources& resources = context.resources;
  if (!resources.options().foreign_exports) {
    return absl::PermissionDeniedError(
        "the policy does not let processes outside Holdfast map memory of "
        "this session: foreign-exports = false");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const BufferResource* owner,
                            OwnerOf(resources, handle));
  HOLDFAST_ASSIGN_OR_RETURN(const BufferResource* buffer,
                            resources.buffers.Find(handle));
  if (owner->imported != nullptr) return ImportedError(handle);
  if (owner->ipc == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        DescribeHandle(handle), " was not allocated with SHARING_IPC, as ",
        "Device::AllocateIpc and hf_buffer_allocate_ipc do"));
  }
  HOLDFAST_RETURN_IF_ERROR(cuda::CheckRange(
      DescribeHandle(handle), command.offset(), command.size(), buffer->size));
  HOLDFAST_ASSIGN_OR_RETURN(const auto memory, owner->ipc->Export());
  v1::Result result;
  v1::Export& exported = *result.mutable_exported();
  exported.set_ipc_handle(memory.handle.reserved,
                          sizeof memory.handle.reserved);
  exported.set_offset(memory.offset + (buffer->address - owner->address) +
                      command.offset());
  exported.set_size(command.size() != 0 ? command.size()
                                        : buffer->size - command.offset());
  exported.set_mapped_size(memory.mapped_size);
  context.Reply(std::move(result));
  return absl::OkStatus();
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::ExportResource& command) {
  Resources& resources = context.resources;
  if (command.foreign() == v1::FOREIGN_HANDLE_IPC) {
    return ExportIpcHandle(context, command);
  }
  HOLDFAST_ASSIGN_OR_RETURN(ExportedRange range, RangeOf(resources, command));
  const uint64_t size = range.request.size();
  internal::SharingRequest message;
  internal::ExportRequest& request = *message.mutable_export_resource();
  request = std::move(range.request);
  request.set_kind(KindOf(command.resource()));
  *request.mutable_terms() = command;
  HOLDFAST_ASSIGN_OR_RETURN(const SharingAnswer answer,
                            resources.sharing().ask(message, -1));
  v1::Result result;
  v1::Export& exported = *result.mutable_exported();
  exported.set_token(answer.reply.token());
  exported.set_size(size);
  if (command.foreign() == v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR) {
    exported.set_offset(range.mapped_offset);
    exported.set_mapped_size(range.mapped_size);
    exported.set_descriptor_address(answer.reply.descriptor_address());
  }
  context.Reply(std::move(result));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::ImportResource& command) {
  Resources& resources = context.resources;
  const uint64_t handle = command.resource();
  if (holdfast::Handle::Unpack(handle).kind == HandleKind::kEvent) {
    HOLDFAST_RETURN_IF_ERROR(Create(resources.events, handle, [&] {
      return ImportEvent(resources, command);
    }));
    v1::Result result;
    result.mutable_imported()->set_rights(v1::RIGHTS_READ);
    context.Reply(std::move(result));
    return absl::OkStatus();
  }
  if (holdfast::Handle::Unpack(handle).kind == HandleKind::kSemaphore) {
    HOLDFAST_RETURN_IF_ERROR(Create(resources.semaphores, handle, [&] {
      return ImportSemaphore(resources, command);
    }));
    context.Reply(
        ImportResult(*(*resources.semaphores.Find(handle))->imported));
    return absl::OkStatus();
  }
  HOLDFAST_RETURN_IF_ERROR(Create(resources.buffers, handle, [&] {
    return ImportBuffer(resources, command);
  }));
  context.Reply(ImportResult(*(*resources.buffers.Find(handle))->imported));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::RevokeExport& command) {
  HOLDFAST_RETURN_IF_ERROR(CheckToken(command.token()));
  internal::SharingRequest request;
  request.set_revoke(command.token());
  return context.resources.sharing().ask(request, -1).status();
}

}  // namespace holdfast::executor
