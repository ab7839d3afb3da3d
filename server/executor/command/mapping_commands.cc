// SPDX-License-Identifier: Apache-2.0
//
// Reserved addresses, and memory of other buffers that is mapped there.
#include <fcntl.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "core/cuda/copy.h"
#include "core/memory/address_range.h"
#include "core/memory/chunk.h"
#include "core/memory/imported_chunk.h"
#include "server/executor/command/command_handlers.h"

namespace holdfast::executor {
namespace {

absl::Status CheckWhole(absl::string_view what, uint64_t value,
                        uint64_t granularity) {
  if (value % granularity == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", value, " is no multiple of the device's ",
                   granularity, " bytes"));
}

absl::StatusOr<std::shared_ptr<memory::AddressRange>> TakeAddresses(
    Resources& resources, DeviceState& device, uint64_t granularity,
    const v1::ReserveAddresses& command) {
  const auto& all = device.allocator->addresses();
  if (resources.devices.restoring()) {
    return memory::AddressRange::In(
        all, command.size(),
        resources.devices.inheritance().ImportAddressOf(command.buffer()));
  }
  if (command.address() != 0 && command.address() % granularity == 0) {
    auto wished =
        memory::AddressRange::In(all, command.size(), command.address());
    if (wished.ok()) return *std::move(wished);
  }
  return memory::AddressRange::In(all, command.size(), /*address=*/0);
}

absl::StatusOr<BufferResource> Reserve(Resources& resources,
                                       const v1::ReserveAddresses& command) {
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(command.device()));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t granularity,
                            memory::Chunk::Granularity(*device->context));
  if (command.size() == 0) {
    return absl::InvalidArgumentError("a reservation of 0 addresses");
  }
  HOLDFAST_RETURN_IF_ERROR(CheckWhole("the size", command.size(), granularity));
  BufferResource buffer;
  HOLDFAST_ASSIGN_OR_RETURN(
      buffer.reservation,
      TakeAddresses(resources, *device, granularity, command));
  buffer.address = buffer.reservation->base();
  buffer.size = command.size();
  buffer.device = command.device();
  return buffer;
}

// The whole memory of a buffer, which it shares with no other.
struct WholeMemory {
  int descriptor = -1;  // borrowed
  uint64_t size = 0;
};

absl::StatusOr<WholeMemory> MemoryOf(Resources& resources, uint64_t handle,
                                     const BufferResource& buffer) {
  if (buffer.imported != nullptr && buffer.parent == 0 &&
      buffer.imported->offset() == 0 && buffer.imported->descriptor() >= 0) {
    return WholeMemory{buffer.imported->descriptor(),
                       buffer.imported->mapped_size()};
  }
  if (buffer.allocation.has_value() && buffer.sharing == v1::SHARING_EXPORT) {
    HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                              resources.devices.Open(buffer.device));
    const memory::Chunk* chunk =
        device->allocator->FindChunk(buffer.allocation->block.span);
    if (chunk != nullptr)
      return WholeMemory{chunk->descriptor(), chunk->size()};
  }
  return absl::FailedPreconditionError(absl::StrCat(
      DescribeHandle(handle),
      " cannot be mapped: memory of SHARING_EXPORT can, and memory of another "
      "session that was exported whole"));
}

absl::StatusOr<CUmemAccess_flags> RightsOf(const v1::MapBuffer& command,
                                           const BufferResource& source) {
  if (command.read_only()) return CU_MEM_ACCESS_FLAGS_PROT_READ;
  if (!source.read_only) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return absl::PermissionDeniedError(
      absl::StrCat(DescribeHandle(command.source()),
                   " is for reading only, and the mapping is to be written"));
}

absl::StatusOr<BufferResource> Map(Resources& resources,
                                   const v1::MapBuffer& command) {
  HOLDFAST_ASSIGN_OR_RETURN(const BufferResource* addresses,
                            resources.buffers.Find(command.buffer()));
  if (addresses->reservation == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        DescribeHandle(command.buffer()), " is no reservation of addresses"));
  }
  HOLDFAST_RETURN_IF_ERROR(cuda::CheckRange(DescribeHandle(command.buffer()),
                                            command.offset(), command.size(),
                                            addresses->size));
  HOLDFAST_ASSIGN_OR_RETURN(const BufferResource* source,
                            resources.buffers.Find(command.source()));
  HOLDFAST_ASSIGN_OR_RETURN(const WholeMemory whole,
                            MemoryOf(resources, command.source(), *source));
  HOLDFAST_RETURN_IF_ERROR(cuda::CheckRange(DescribeHandle(command.source()), 0,
                                            command.size(), whole.size));
  HOLDFAST_ASSIGN_OR_RETURN(const CUmemAccess_flags rights,
                            RightsOf(command, *source));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(source->device));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t granularity,
                            memory::Chunk::Granularity(*device->context));
  HOLDFAST_RETURN_IF_ERROR(
      CheckWhole("the offset", command.offset(), granularity));
  HOLDFAST_RETURN_IF_ERROR(CheckWhole("the size", command.size(), granularity));
  if (command.size() == 0) {
    return absl::InvalidArgumentError("a mapping of 0 bytes");
  }
  BufferResource buffer;
  HOLDFAST_ASSIGN_OR_RETURN(buffer.charge,
                            resources.account().chunks()->Take(1));
  buffer.address = addresses->address + command.offset();
  HOLDFAST_ASSIGN_OR_RETURN(
      auto range, memory::AddressRange::In(addresses->reservation,
                                           command.size(), buffer.address));
  HOLDFAST_ASSIGN_OR_RETURN(
      buffer.mapping, memory::ImportedChunk::Reserve(device->context,
                                                     std::move(range), rights));
  HOLDFAST_RETURN_IF_ERROR(buffer.mapping->Remap(
      UniqueFd(fcntl(whole.descriptor, F_DUPFD_CLOEXEC, 0))));
  HOLDFAST_ASSIGN_OR_RETURN(Hold hold, resources.HoldMemory(command.source()));
  buffer.mapped.push_back(std::move(hold));
  buffer.size = command.size();
  buffer.device = source->device;
  buffer.read_only = command.read_only();
  buffer.parent = command.buffer();
  return buffer;
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::ReserveAddresses& command) {
  return Create(context.resources.buffers, command.buffer(),
                [&] { return Reserve(context.resources, command); });
}

absl::Status Handle(const CommandContext& context,
                    const v1::MapBuffer& command) {
  Resources& resources = context.resources;
  HOLDFAST_RETURN_IF_ERROR(Create(resources.buffers, command.mapping(),
                                  [&] { return Map(resources, command); }));
  (*resources.buffers.Find(command.buffer()))->views.insert(command.mapping());
  return absl::OkStatus();
}

}  // namespace holdfast::executor
