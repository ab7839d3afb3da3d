// SPDX-License-Identifier: Apache-2.0
#include "core/memory/ipc_allocation.h"

#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::memory {

absl::StatusOr<std::unique_ptr<IpcAllocation>> IpcAllocation::Create(
    std::shared_ptr<const cuda::Context> context, uint64_t size) {
  const cuda::DriverApi& api = context->api();
  if (api.cuIpcGetMemHandle == nullptr || api.cuMemAlloc == nullptr ||
      api.cuMemFree == nullptr || api.cuMemGetAddressRange == nullptr) {
    return absl::UnimplementedError("the driver has no IPC handles");
  }
  if (size == 0) {
    return absl::InvalidArgumentError(
        "memory for an IPC handle has at least 1 byte");
  }
  const cuda::ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  CUdeviceptr address = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuMemAlloc(&address, size));
  return std::unique_ptr<IpcAllocation>(
      new IpcAllocation(std::move(context), address, size));
}

IpcAllocation::~IpcAllocation() {
  const cuda::ScopedContext current(*context_);
  if (current.status().ok()) (void)context_->api().cuMemFree(address_);
}

absl::StatusOr<IpcAllocation::Exported> IpcAllocation::Export() const {
  const cuda::ScopedContext current(*context_);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  Exported exported;
  HOLDFAST_CUDA_RETURN_IF_ERROR(context_->api(),
                                cuIpcGetMemHandle(&exported.handle, address_));
  CUdeviceptr base = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      context_->api(),
      cuMemGetAddressRange(&base, &exported.mapped_size, address_));
  exported.offset = address_ - base;
  return exported;
}

}  // namespace holdfast::memory
