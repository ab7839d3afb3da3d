// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/context.h"

#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {

absl::StatusOr<std::shared_ptr<const Context>> Context::RetainPrimary(
    const Device& device) {
  HOLDFAST_ASSIGN_OR_RETURN(const DeviceLimits limits, device.Limits());
  CUcontext handle = nullptr;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      device.api(), cuDevicePrimaryCtxRetain(&handle, device.handle()));
  std::shared_ptr<Context> context(new Context(device, limits, handle));
  HOLDFAST_RETURN_IF_ERROR(context->ReadStreamPriorities());
  return context;
}

Context::~Context() {
  LogIfFailed(api().cuDevicePrimaryCtxRelease(device_.handle()),
              "cuDevicePrimaryCtxRelease");
}

absl::Status Context::ReadStreamPriorities() {
  ScopedContext current(*this);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api(),
      cuCtxGetStreamPriorityRange(&least_priority_, &greatest_priority_));
  return absl::OkStatus();
}

absl::StatusOr<Context::MemoryInfo> Context::GetMemoryInfo() const {
  ScopedContext current(*this);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  size_t free = 0;
  size_t total = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(api(), cuMemGetInfo(&free, &total));
  return MemoryInfo{free, total};
}

absl::Status Context::EnablePeerAccess(const Context& peer) const {
  HOLDFAST_CUDA_REQUIRE(api(), cuCtxEnablePeerAccess);
  ScopedContext current(*this);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  const CUresult result = api().cuCtxEnablePeerAccess(peer.handle(), 0);
  if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return absl::OkStatus();
  return ToStatus(result, "cuCtxEnablePeerAccess");
}

absl::Status Context::DisablePeerAccess(const Context& peer) const {
  HOLDFAST_CUDA_REQUIRE(api(), cuCtxDisablePeerAccess);
  ScopedContext current(*this);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  const CUresult result = api().cuCtxDisablePeerAccess(peer.handle());
  if (result == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) return absl::OkStatus();
  return ToStatus(result, "cuCtxDisablePeerAccess");
}

absl::Status Context::Synchronize() const {
  ScopedContext current(*this);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(api(), cuCtxSynchronize());
  return absl::OkStatus();
}

}  // namespace holdfast::cuda
