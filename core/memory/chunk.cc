// SPDX-License-Identifier: Apache-2.0
#include "core/memory/chunk.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::memory {
namespace {

CUmemAllocationProp Properties(const cuda::Context& context) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = context.device().ordinal();
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

absl::Status CreateStatus(CUresult result, const cuda::Context& context,
                          uint64_t size) {
  const absl::Status status = cuda::ToStatus(result, "cuMemCreate");
  if (status.ok()) return status;
  const auto info = context.GetMemoryInfo();
  const std::string room =
      info.ok()
          ? absl::StrCat(info->free, " of ", info->total, " bytes are free")
          : "";
  return WithPrefix(absl::StrCat(size, " bytes of memory of device ",
                                 context.device().ordinal(), "; ", room),
                    status);
}

}  // namespace

absl::StatusOr<uint64_t> Chunk::Granularity(const cuda::Context& context) {
  cuda::ScopedContext current(context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  const CUmemAllocationProp properties = Properties(context);
  size_t granularity = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      context.api(),
      cuMemGetAllocationGranularity(&granularity, &properties,
                                    CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  return granularity;
}

// REQUIRES: the context is current.
absl::StatusOr<std::unique_ptr<Chunk>> Chunk::Make(
    uint32_t id, std::shared_ptr<const cuda::Context> context,
    AddressRange& range, uint64_t size) {
  const CUmemAllocationProp properties = Properties(*context);
  CUmemGenericAllocationHandle handle = 0;
  HOLDFAST_RETURN_IF_ERROR(
      CreateStatus(context->api().cuMemCreate(&handle, size, &properties, 0),
                   *context, size));
  std::unique_ptr<Chunk> chunk(
      new Chunk(id, std::move(context), range, handle));
  HOLDFAST_RETURN_IF_ERROR(chunk->Export());
  return chunk;
}

absl::StatusOr<std::unique_ptr<Chunk>> Chunk::Create(
    uint32_t id, std::shared_ptr<const cuda::Context> context,
    AddressRange& range, uint64_t size) {
  cuda::ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_ASSIGN_OR_RETURN(auto chunk,
                            Make(id, std::move(context), range, size));
  HOLDFAST_ASSIGN_OR_RETURN(const CUdeviceptr address, range.Take(size));
  HOLDFAST_RETURN_IF_ERROR(
      chunk->Map(address, size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  return chunk;
}

absl::StatusOr<std::unique_ptr<Chunk>> Chunk::CreateAt(
    uint32_t id, std::shared_ptr<const cuda::Context> context,
    AddressRange& range, CUdeviceptr address, uint64_t size) {
  cuda::ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_ASSIGN_OR_RETURN(auto chunk,
                            Make(id, std::move(context), range, size));
  HOLDFAST_RETURN_IF_ERROR(range.TakeAt(address, size));
  HOLDFAST_RETURN_IF_ERROR(
      chunk->Map(address, size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  return chunk;
}

absl::StatusOr<std::unique_ptr<Chunk>> Chunk::Import(
    uint32_t id, std::shared_ptr<const cuda::Context> context,
    AddressRange& range, UniqueFd descriptor, CUdeviceptr address,
    uint64_t size, CUmemAccess_flags rights) {
  cuda::ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  CUmemGenericAllocationHandle handle = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      context->api(),
      cuMemImportFromShareableHandle(
          &handle,
          reinterpret_cast<void*>(static_cast<intptr_t>(descriptor.get())),
          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  std::unique_ptr<Chunk> chunk(
      new Chunk(id, std::move(context), range, handle));
  chunk->descriptor_ = std::move(descriptor);
  HOLDFAST_RETURN_IF_ERROR(range.TakeAt(address, size));
  HOLDFAST_RETURN_IF_ERROR(chunk->Map(address, size, rights));
  return chunk;
}

absl::Status Chunk::Export() {
  int fd = -1;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      context_->api(),
      cuMemExportToShareableHandle(
          &fd, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  descriptor_.Reset(fd);
  return absl::OkStatus();
}

// Takes over [address, address + size) of the range, also when it fails.
absl::Status Chunk::Map(CUdeviceptr address, uint64_t size,
                        CUmemAccess_flags rights) {
  address_ = address;
  size_ = size;
  const cuda::DriverApi& api = context_->api();
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuMemMap(address, size, 0, handle_, 0));
  mapped_ = true;
  return SetAccess(context_->device().handle(), rights);
}

absl::Status Chunk::SetAccess(CUdevice device, CUmemAccess_flags rights) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = rights;
  HOLDFAST_CUDA_RETURN_IF_ERROR(context_->api(),
                                cuMemSetAccess(address_, size_, &access, 1));
  return absl::OkStatus();
}

Chunk::~Chunk() {
  cuda::ScopedContext current(*context_);
  const cuda::DriverApi& api = context_->api();
  if (mapped_) {
    cuda::LogIfFailed(api.cuMemUnmap(address_, size_), "cuMemUnmap");
  }
  if (size_ != 0) range_.GiveBack(address_, size_);
  cuda::LogIfFailed(api.cuMemRelease(handle_), "cuMemRelease");
}

}  // namespace holdfast::memory
