// SPDX-License-Identifier: Apache-2.0
#include "server/executor/sharing/foreign_memory.h"

#include <unistd.h>

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/handle.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "core/memory/chunk.h"

namespace holdfast::executor {
namespace {

// Far below what an address can be, so that sums do not overflow.
constexpr uint64_t kMaxMapped = uint64_t{1} << 47;

// Returns the bytes of an IPC handle if `descriptor` is a sealed memfd with
// nothing else in it. A handle is sent in a descriptor because only a process
// on this machine can send one.
std::optional<CUipcMemHandle> ReadIpcHandle(int descriptor) {
  CUipcMemHandle handle;
  char more = 0;
  if (!IsSealed(descriptor) ||
      pread(descriptor, &handle, sizeof handle, 0) != sizeof handle ||
      pread(descriptor, &more, 1, sizeof handle) != 0) {
    return std::nullopt;
  }
  return handle;
}

absl::Status CheckRange(const v1::ForeignMemory& memory) {
  if (memory.size() > 0 && memory.size() <= kMaxMapped &&
      memory.offset() <= kMaxMapped) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("foreign memory of ", memory.size(), " bytes at offset ",
                   memory.offset()));
}

// The bytes that have to be mapped for the range.
absl::StatusOr<uint64_t> MappedSize(const cuda::Context& context,
                                    const v1::ForeignMemory& memory) {
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t granularity,
                            memory::Chunk::Granularity(context));
  const uint64_t end = memory.offset() + memory.size();
  return (end + granularity - 1) / granularity * granularity;
}

absl::StatusOr<std::shared_ptr<ImportedMemory>> ImportFromPool(
    Resources& resources, const v1::ImportResource& command) {
  const v1::ForeignMemory& memory = command.memory();
  CUmemPoolPtrExportData data;
  if (memory.pool().pointer_data().size() != sizeof data) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the data of a pool's pointer have ",
        memory.pool().pointer_data().size(), " bytes, not ", sizeof data));
  }
  std::memcpy(&data, memory.pool().pointer_data().data(), sizeof data);
  HOLDFAST_ASSIGN_OR_RETURN(
      UniqueFd pool,
      resources.sharing().claim(memory.pool().descriptor_token()));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(command.device()));
  return ImportedMemory::OpenPool(device->context, std::move(pool), data,
                                  memory.offset(), memory.size());
}

}  // namespace

absl::StatusOr<std::shared_ptr<ImportedMemory>> ImportForeign(
    Resources& resources, const v1::ImportResource& command) {
  const v1::ForeignMemory& memory = command.memory();
  if (!memory.has_descriptor_token() && !memory.has_pool()) {
    return absl::UnimplementedError(
        "memory outside Holdfast is imported by a descriptor that was handed "
        "over: of cuMemExportToShareableHandle, of "
        "cuMemPoolExportToShareableHandle, or of a sealed memfd with the 64 "
        "bytes of cuIpcGetMemHandle");
  }
  if (Handle::Unpack(command.resource()).kind != HandleKind::kBuffer) {
    return absl::InvalidArgumentError("foreign memory becomes a buffer");
  }
  HOLDFAST_RETURN_IF_ERROR(CheckRange(memory));
  if (memory.has_pool()) return ImportFromPool(resources, command);
  HOLDFAST_ASSIGN_OR_RETURN(
      UniqueFd descriptor,
      resources.sharing().claim(memory.descriptor_token()));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(command.device()));
  if (const auto handle = ReadIpcHandle(descriptor.get())) {
    return ImportedMemory::Open(device->context, *handle, memory.offset(),
                                memory.size());
  }
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t mapped,
                            MappedSize(*device->context, memory));
  SharingAnswer answer;
  answer.descriptor = std::move(descriptor);
  internal::ImportedResource& imported = *answer.reply.mutable_imported();
  imported.set_device(
      static_cast<uint32_t>(device->context->device().ordinal()));
  imported.set_chunk_size(mapped);
  imported.set_offset(memory.offset());
  imported.set_size(memory.size());
  imported.set_rights(v1::RIGHTS_READ_WRITE);
  return ImportedMemory::Map(device->context, {device->allocator->addresses()},
                             std::move(answer),
                             /*released=*/[](uint64_t) {});
}

}  // namespace holdfast::executor
