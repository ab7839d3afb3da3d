// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/host_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {

HostMemory::HostMemory(std::shared_ptr<const Context> context, void* data,
                       size_t size, bool registered)
    : context_(std::move(context)),
      data_(static_cast<char*>(data)),
      device_address_(reinterpret_cast<CUdeviceptr>(data)),
      size_(size),
      registered_(registered) {
  const DriverApi& api = context_->api();
  if (api.cuMemHostGetDevicePointer == nullptr) return;
  // A driver without one for this memory can still copy from and to data().
  CUdeviceptr address = 0;
  if (api.cuMemHostGetDevicePointer(&address, data, 0) == CUDA_SUCCESS) {
    device_address_ = address;
  }
}

absl::StatusOr<std::unique_ptr<HostMemory>> HostMemory::Allocate(
    std::shared_ptr<const Context> context, size_t size) {
  ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  void* data = nullptr;
  const CUresult result = context->api().cuMemHostAlloc(
      &data, size == 0 ? 1 : size, CU_MEMHOSTALLOC_PORTABLE);
  HOLDFAST_RETURN_IF_ERROR(
      WithPrefix(absl::StrCat(size, " bytes of pinned host memory"),
                 ToStatus(result, "cuMemHostAlloc")));
  return std::unique_ptr<HostMemory>(
      new HostMemory(std::move(context), data, size, /*registered=*/false));
}

absl::StatusOr<std::unique_ptr<HostMemory>> HostMemory::Register(
    std::shared_ptr<const Context> context, void* data, size_t size) {
  ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  const CUresult result =
      context->api().cuMemHostRegister(data, size, CU_MEMHOSTREGISTER_PORTABLE);
  HOLDFAST_RETURN_IF_ERROR(
      WithPrefix(absl::StrCat("registering ", size, " bytes of host memory"),
                 ToStatus(result, "cuMemHostRegister")));
  return std::unique_ptr<HostMemory>(
      new HostMemory(std::move(context), data, size, /*registered=*/true));
}

HostMemory::~HostMemory() {
  ScopedContext current(*context_);
  if (registered_) {
    LogIfFailed(context_->api().cuMemHostUnregister(data_),
                "cuMemHostUnregister");
  } else {
    LogIfFailed(context_->api().cuMemFreeHost(data_), "cuMemFreeHost");
  }
}

}  // namespace holdfast::cuda
