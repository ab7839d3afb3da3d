// SPDX-License-Identifier: Apache-2.0
#include "client/bench/native_driver.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/cuda/device.h"
#include "core/cuda/module.h"

namespace holdfast::bench {

absl::StatusOr<std::unique_ptr<NativeDriver>> NativeDriver::Open(
    const cuda::DriverOptions& options) {
  std::unique_ptr<NativeDriver> native(new NativeDriver());
  HOLDFAST_ASSIGN_OR_RETURN(native->driver_, cuda::LoadDriver(options));
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Device device,
                            cuda::Device::Get(native->api(), 0));
  HOLDFAST_ASSIGN_OR_RETURN(native->context_,
                            cuda::Context::RetainPrimary(device));
  HOLDFAST_CUDA_RETURN_IF_ERROR(native->api(),
                                cuCtxSetCurrent(native->context_->handle()));
  HOLDFAST_ASSIGN_OR_RETURN(native->stream_,
                            cuda::Stream::Create(native->context_, {}));
  return native;
}

absl::StatusOr<std::shared_ptr<const cuda::Kernel>> NativeDriver::Load(
    const std::string& image, const std::string& kernel) const {
  HOLDFAST_ASSIGN_OR_RETURN(auto module, cuda::Module::Load(context_, image));
  return cuda::Kernel::Find(std::move(module), kernel);
}

}  // namespace holdfast::bench
