// SPDX-License-Identifier: Apache-2.0
#include "server/executor/imports/imported_memory.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/device.h"
#include "core/memory/ipc_memory.h"
#include "core/memory/pool_memory.h"

namespace holdfast::executor {
namespace {

absl::Status CheckReach(const cuda::Device& device, uint32_t owner) {
  if (device.ordinal() == static_cast<int>(owner)) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(
      const cuda::Device peer,
      cuda::Device::Get(device.api(), static_cast<int>(owner)));
  HOLDFAST_ASSIGN_OR_RETURN(const bool can, device.CanAccessPeer(peer));
  if (can) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the memory is of device ", owner, ", which device ", device.ordinal(),
      " cannot access (cuDeviceCanAccessPeer); import it for device ", owner));
}

}  // namespace

ImportedMemory::ImportedMemory(const internal::ImportedResource& imported,
                               std::function<void(uint64_t)> released)
    : import_(imported.import()),
      offset_(imported.offset()),
      size_(imported.size()),
      read_only_(imported.rights() != v1::RIGHTS_READ_WRITE),
      released_(std::move(released)) {}

absl::StatusOr<std::shared_ptr<ImportedMemory>> ImportedMemory::Map(
    std::shared_ptr<const cuda::Context> context, Place place,
    SharingAnswer answer, std::function<void(uint64_t)> released) {
  const internal::ImportedResource& imported = answer.reply.imported();
  // From here on an error releases the import.
  std::shared_ptr<ImportedMemory> memory(
      new ImportedMemory(imported, std::move(released)));
  HOLDFAST_RETURN_IF_ERROR(CheckReach(context->device(), imported.device()));
  HOLDFAST_ASSIGN_OR_RETURN(
      auto range,
      memory::AddressRange::In(std::move(place.addresses),
                               imported.chunk_size(), place.address));
  HOLDFAST_ASSIGN_OR_RETURN(
      memory->chunk_,
      memory::ImportedChunk::Reserve(std::move(context), std::move(range),
                                     memory->read_only_
                                         ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                         : CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  memory->base_ = memory->chunk_->address();
  memory->mapped_size_ = memory->chunk_->size();
  if (!imported.asleep()) {
    HOLDFAST_RETURN_IF_ERROR(memory->Wake(std::move(answer.descriptor)));
  }
  return memory;
}

absl::StatusOr<std::shared_ptr<ImportedMemory>> ImportedMemory::InAllocation(
    CUdeviceptr base, uint64_t mapped_size, std::shared_ptr<const void> owner,
    uint64_t offset, uint64_t size) {
  if (offset > mapped_size || size > mapped_size - offset) {
    return absl::InvalidArgumentError(absl::StrCat(size, " bytes at ", offset,
                                                   " of an allocation of ",
                                                   mapped_size, " bytes"));
  }
  internal::ImportedResource imported;
  imported.set_offset(offset);
  imported.set_size(size);
  imported.set_rights(v1::RIGHTS_READ_WRITE);
  std::shared_ptr<ImportedMemory> memory(
      new ImportedMemory(imported, /*released=*/[](uint64_t) {}));
  memory->base_ = base;
  memory->mapped_size_ = mapped_size;
  memory->allocation_ = std::move(owner);
  return memory;
}

absl::StatusOr<std::shared_ptr<ImportedMemory>> ImportedMemory::Open(
    std::shared_ptr<const cuda::Context> context, const CUipcMemHandle& handle,
    uint64_t offset, uint64_t size) {
  HOLDFAST_ASSIGN_OR_RETURN(
      std::shared_ptr<const memory::IpcMemory> opened,
      memory::IpcMemory::Open(std::move(context), handle));
  const CUdeviceptr base = opened->address();
  const uint64_t mapped_size = opened->size();
  return InAllocation(base, mapped_size, std::move(opened), offset, size);
}

absl::StatusOr<std::shared_ptr<ImportedMemory>> ImportedMemory::OpenPool(
    std::shared_ptr<const cuda::Context> context, UniqueFd pool,
    const CUmemPoolPtrExportData& data, uint64_t offset, uint64_t size) {
  HOLDFAST_ASSIGN_OR_RETURN(
      std::shared_ptr<const memory::PoolMemory> opened,
      memory::PoolMemory::Import(std::move(context), std::move(pool), data));
  const CUdeviceptr base = opened->address();
  const uint64_t mapped_size = opened->size();
  return InAllocation(base, mapped_size, std::move(opened), offset, size);
}

ImportedMemory::~ImportedMemory() {
  chunk_.reset();
  allocation_.reset();
  released_(import_);
}

}  // namespace holdfast::executor
