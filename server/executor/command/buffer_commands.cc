// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "proto/protocol_limits.h"
#include "server/executor/command/buffer_range.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/command/fill_operands.h"

namespace holdfast::executor {
namespace {

constexpr int kMaxListed = 1024;

absl::Status CheckName(const v1::AllocateBuffer& command) {
  if (command.name().size() <= kMaxBufferNameBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the name of ", DescribeHandle(command.buffer()), " has ",
      command.name().size(), " bytes, the limit is ", kMaxBufferNameBytes));
}

absl::Status CheckSharing(const v1::AllocateBuffer& command) {
  switch (command.sharing()) {
    case v1::SHARING_NONE:
      return absl::OkStatus();
    case v1::SHARING_EXPORT:
    case v1::SHARING_IPC:
      if (command.has_device()) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat(
          v1::Sharing_Name(command.sharing()), " is for memory of a device"));
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("sharing ", command.sharing(), " does not exist"));
  }
}

absl::StatusOr<BufferResource> AllocateHost(Resources& resources,
                                            uint64_t size) {
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.OpenFirst());
  BufferResource buffer;
  buffer.size = size;
  buffer.device = resources.devices.first_ordinal();
  buffer.is_host = true;
  if (size == 0) return buffer;
  HOLDFAST_ASSIGN_OR_RETURN(
      buffer.host,
      PinnedMemory::Allocate(device->context, size,
                             *resources.account().pinned_memory()));
  buffer.address = buffer.host->device_address();
  return buffer;
}

// Memory that lies in no chunk, and is charged like one.
struct ChargedAllocation {
  Charge reserved;
  std::unique_ptr<memory::IpcAllocation> memory;
};

// The stream's work is not waited for: nothing can use the memory before.
absl::StatusOr<BufferResource> AllocateIpc(Resources& resources,
                                           const v1::AllocateBuffer& command) {
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(command.device()));
  BufferResource buffer;
  buffer.size = command.size();
  buffer.device = command.device();
  buffer.sharing = command.sharing();
  Account& account = resources.account();
  HOLDFAST_ASSIGN_OR_RETURN(buffer.charge,
                            account.device_memory()->Take(command.size()));
  auto owned = std::make_shared<ChargedAllocation>();
  HOLDFAST_ASSIGN_OR_RETURN(
      owned->reserved,
      account.reserved_memory(command.device())->Take(command.size()));
  HOLDFAST_ASSIGN_OR_RETURN(
      owned->memory,
      memory::IpcAllocation::Create(device->context, command.size()));
  buffer.ipc =
      std::shared_ptr<const memory::IpcAllocation>(owned, owned->memory.get());
  buffer.address = buffer.ipc->address();
  return buffer;
}

absl::StatusOr<BufferResource> AllocateDevice(
    Resources& resources, const v1::AllocateBuffer& command) {
  if (command.sharing() == v1::SHARING_IPC) {
    return AllocateIpc(resources, command);
  }
  HOLDFAST_RETURN_IF_ERROR(resources.devices.Open(command.device()).status());
  const cuda::Stream* stream = nullptr;
  // The stream of a restored buffer may be gone; its work is, in any case.
  if (command.stream() != 0 && !resources.devices.restoring()) {
    HOLDFAST_ASSIGN_OR_RETURN(StreamResource * found,
                              resources.streams.Find(command.stream()));
    if (found->device != command.device()) {
      return absl::InvalidArgumentError(absl::StrCat(
          DescribeHandle(command.stream()), " is of device ", found->device,
          ", the buffer is to be on device ", command.device()));
    }
    stream = found->stream.get();
  }
  BufferResource buffer;
  buffer.size = command.size();
  buffer.device = command.device();
  buffer.stream = command.stream();
  buffer.sharing = command.sharing();
  HOLDFAST_ASSIGN_OR_RETURN(
      buffer.charge, resources.account().device_memory()->Take(command.size()));
  HOLDFAST_ASSIGN_OR_RETURN(
      buffer.allocation, resources.devices.Allocate(
                             command.buffer(), command.device(), command.size(),
                             stream, command.sharing() == v1::SHARING_EXPORT));
  if (resources.devices.restoring()) {
    const Inheritance& inheritance = resources.devices.inheritance();
    buffer.read_only = inheritance.read_only.contains(
        inheritance.PlacementOf(command.buffer())->chunk());
  }
  buffer.address = buffer.allocation->address;
  return buffer;
}

absl::StatusOr<BufferResource> Allocate(Resources& resources,
                                        const v1::AllocateBuffer& command) {
  HOLDFAST_RETURN_IF_ERROR(CheckSharing(command));
  HOLDFAST_RETURN_IF_ERROR(CheckName(command));
  switch (command.placement_case()) {
    case v1::AllocateBuffer::kDevice:
      return AllocateDevice(resources, command);
    case v1::AllocateBuffer::kHost:
      return AllocateHost(resources, command.size());
    case v1::AllocateBuffer::PLACEMENT_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(DescribeHandle(command.buffer()),
                   ": no placement given: a device, or the host"));
}

void Describe(const BufferResource& buffer,
              v1::BufferDescription* description) {
  description->set_size(buffer.size);
  description->set_host(buffer.is_host);
  if (!buffer.is_host) description->set_device(buffer.device);
  description->set_address(buffer.address);
}

template <typename T>
void AddUsed(const HandleTable<T>& table, v1::BufferList* list) {
  if (table.unused_from() == 0) return;
  v1::BufferList::UsedHandles& used = *list->add_used();
  used.set_kind(static_cast<v1::HandleKind>(table.kind()));
  used.set_unused_from(table.unused_from());
  used.set_handles(static_cast<uint32_t>(table.size()));
}

absl::Status CheckInline(absl::string_view what, uint64_t size) {
  if (size <= kMaxInlineBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " of ", size, " bytes: inline data is limited to ",
                   kMaxInlineBytes, " bytes; use a transfer"));
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::AllocateBuffer& command) {
  Resources& resources = context.resources;
  return Create(resources.buffers, command.buffer(),
                [&]() -> absl::StatusOr<BufferResource> {
                  HOLDFAST_ASSIGN_OR_RETURN(BufferResource buffer,
                                            Allocate(resources, command));
                  buffer.name = command.name();
                  return buffer;
                });
}

absl::Status Handle(const CommandContext& context,
                    const v1::FreeBuffer& command) {
  Resources& resources = context.resources;
  if (command.stream() != 0) {
    HOLDFAST_RETURN_IF_ERROR(resources.streams.Find(command.stream()).status());
  }
  HOLDFAST_ASSIGN_OR_RETURN(auto buffer,
                            resources.buffers.Take(command.buffer()));
  if (!buffer.has_value()) return absl::OkStatus();
  if (buffer->parent != 0) {
    const auto parent = resources.buffers.Find(buffer->parent);
    if (parent.ok()) (*parent)->views.erase(command.buffer());
  }
  return resources.FreeBuffer(*std::move(buffer), command.stream());
}

absl::Status Handle(const CommandContext& context,
                    const v1::CreateSubBuffer& command) {
  Resources& resources = context.resources;
  HOLDFAST_RETURN_IF_ERROR(Create(
      resources.buffers, command.buffer(),
      [&]() -> absl::StatusOr<BufferResource> {
        HOLDFAST_ASSIGN_OR_RETURN(const BufferResource* found,
                                  resources.buffers.Find(command.parent()));
        const BufferResource& parent = *found;
        HOLDFAST_RETURN_IF_ERROR(
            cuda::CheckRange(DescribeHandle(command.parent()), command.offset(),
                             command.size(), parent.size));
        BufferResource view;
        view.address = parent.address + command.offset();
        view.size = command.size();
        // So that it is known to sleep when its parent does.
        view.imported = parent.imported;
        view.device = parent.device;
        view.is_host = parent.is_host;
        view.read_only = parent.read_only;
        view.parent = command.parent();
        return view;
      }));
  (*resources.buffers.Find(command.parent()))->views.insert(command.buffer());
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::DescribeBuffer& command) {
  HOLDFAST_ASSIGN_OR_RETURN(BufferResource * buffer,
                            context.resources.buffers.Find(command.buffer()));
  v1::Result result;
  Describe(*buffer, result.mutable_buffer());
  context.Reply(std::move(result));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::ListBuffers& command) {
  Resources& resources = context.resources;
  v1::Result result;
  v1::BufferList& list = *result.mutable_buffers();
  uint32_t first = 0;
  if (command.after() != 0) {
    first = holdfast::Handle::Unpack(command.after()).index + 1;
  } else {
    AddUsed(resources.streams, &list);
    AddUsed(resources.events, &list);
    AddUsed(resources.buffers, &list);
    AddUsed(resources.modules, &list);
    AddUsed(resources.kernels, &list);
    AddUsed(resources.graphs, &list);
    AddUsed(resources.graph_execs, &list);
    AddUsed(resources.arenas, &list);
    AddUsed(resources.semaphores, &list);
  }
  resources.buffers.ForEachHandleFrom(
      first, [&](uint64_t handle, const BufferResource& buffer) {
        const bool made_here =
            buffer.parent == 0 && buffer.imported == nullptr &&
            buffer.module == nullptr && buffer.reservation == nullptr;
        if (!made_here) return true;
        list.set_more(list.buffers_size() == kMaxListed);
        if (list.more()) return false;
        v1::BufferList::Buffer& entry = *list.add_buffers();
        entry.set_buffer(handle);
        entry.set_name(buffer.name);
        Describe(buffer, entry.mutable_description());
        return true;
      });
  context.Reply(std::move(result));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::WriteBuffer& command) {
  Resources& resources = context.resources;
  const std::string& data = command.data();
  HOLDFAST_RETURN_IF_ERROR(CheckInline("a write", data.size()));
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.StreamForWork(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(
      const CUdeviceptr address,
      ResolveRange(resources, command.buffer(), command.offset(), data.size(),
                   Access::kWrite));
  if (data.empty()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(InlineStaging * space, resources.Inline());
  HOLDFAST_ASSIGN_OR_RETURN(const InlineStaging::Span span,
                            space->Take(data.size()));
  std::memcpy(span.data, data.data(), data.size());
  HOLDFAST_RETURN_IF_ERROR(cuda::CopyAsync(*stream->stream, address,
                                           span.device_address, data.size()));
  resources.copies().Add(v1::COPY_PATH_INLINE, data.size());
  resources.stream_work().KeepUntilDone(*stream, span);
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::ReadBuffer& command) {
  Resources& resources = context.resources;
  const uint64_t size = command.size();
  HOLDFAST_RETURN_IF_ERROR(CheckInline("a read", size));
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.StreamForWork(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(
      const CUdeviceptr address,
      ResolveRange(resources, command.buffer(), command.offset(), size));
  HOLDFAST_ASSIGN_OR_RETURN(InlineStaging * space, resources.Inline());
  HOLDFAST_ASSIGN_OR_RETURN(const InlineStaging::Span span, space->Take(size));
  if (size > 0) {
    HOLDFAST_RETURN_IF_ERROR(
        cuda::CopyAsync(*stream->stream, span.device_address, address, size));
    resources.copies().Add(v1::COPY_PATH_INLINE, size);
  }
  context.WatchWork(*stream, [span, size, reply = context.ReplyLater(size)](
                                 const absl::Status& status) {
    v1::Result result;
    result.set_data(span.data, size);
    reply(status, std::move(result));
  });
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::FillBuffer& command) {
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            context.resources.StreamForWork(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(
      const FillOperands fill,
      ResolveFill({context.resources, stream->device}, command));
  return cuda::FillAsync(*stream->stream, fill.address, fill.pattern.value,
                         fill.pattern.bytes, fill.box.width);
}

}  // namespace holdfast::executor
