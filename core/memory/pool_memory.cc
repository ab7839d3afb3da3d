// SPDX-License-Identifier: Apache-2.0
#include "core/memory/pool_memory.h"

#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::memory {

absl::StatusOr<std::unique_ptr<PoolMemory>> PoolMemory::Import(
    std::shared_ptr<const cuda::Context> context, UniqueFd descriptor,
    const CUmemPoolPtrExportData& data) {
  const cuda::DriverApi& api = context->api();
  if (api.cuMemPoolImportFromShareableHandle == nullptr ||
      api.cuMemPoolImportPointer == nullptr || api.cuMemFree == nullptr ||
      api.cuMemGetAddressRange == nullptr) {
    return absl::UnimplementedError("the driver imports no memory pools");
  }
  const cuda::ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  CUmemoryPool pool = nullptr;
  // The driver wants the number itself where a pointer stands.
  const auto number = static_cast<intptr_t>(descriptor.get());
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuMemPoolImportFromShareableHandle(
               &pool, reinterpret_cast<void*>(number),
               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  std::unique_ptr<PoolMemory> memory(new PoolMemory(std::move(context), pool));
  CUmemPoolPtrExportData pointer = data;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuMemPoolImportPointer(&memory->address_, pool, &pointer));
  CUdeviceptr base = 0;
  size_t size = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuMemGetAddressRange(&base, &size, memory->address_));
  memory->size_ = size - (memory->address_ - base);
  return memory;
}

PoolMemory::~PoolMemory() {
  const cuda::ScopedContext current(*context_);
  if (!current.status().ok()) return;
  if (address_ != 0) (void)context_->api().cuMemFree(address_);
  (void)context_->api().cuMemPoolDestroy(pool_);
}

}  // namespace holdfast::memory
