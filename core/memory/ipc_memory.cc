// SPDX-License-Identifier: Apache-2.0
#include "core/memory/ipc_memory.h"

#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::memory {

absl::StatusOr<std::unique_ptr<IpcMemory>> IpcMemory::Open(
    std::shared_ptr<const cuda::Context> context,
    const CUipcMemHandle& handle) {
  const cuda::DriverApi& api = context->api();
  if (api.cuIpcOpenMemHandle == nullptr || api.cuIpcCloseMemHandle == nullptr ||
      api.cuMemGetAddressRange == nullptr) {
    return absl::UnimplementedError("the driver has no IPC handles");
  }
  const cuda::ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  CUdeviceptr address = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api,
      cuIpcOpenMemHandle(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  std::unique_ptr<IpcMemory> memory(new IpcMemory(std::move(context), address));
  CUdeviceptr base = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuMemGetAddressRange(&base, &memory->size_, address));
  return memory;
}

IpcMemory::~IpcMemory() {
  const cuda::ScopedContext current(*context_);
  if (current.status().ok()) {
    (void)context_->api().cuIpcCloseMemHandle(address_);
  }
}

}  // namespace holdfast::memory
