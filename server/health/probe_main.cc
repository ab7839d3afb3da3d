// SPDX-License-Identifier: Apache-2.0
#include "server/health/probe_main.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/cuda/context.h"
#include "core/cuda/device.h"
#include "core/cuda/host_memory.h"
#include "core/cuda/kernel.h"
#include "core/cuda/launch.h"
#include "core/cuda/module.h"
#include "core/cuda/stream.h"
#include "holdfast/v1/common.pb.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

constexpr uint32_t kBlocks = 8, kThreads = 128;
constexpr uint32_t kCount = kBlocks * kThreads;
constexpr uint32_t kFactor = 2654435761u;

// `store` writes to device memory, `load` takes it from there to the host: two
// kernels, so that no compiler keeps the value in a register.
constexpr char kPtx[] = R"(
.version 6.4
.target sm_75
.address_size 64
.global .align 4 .b8 values[4096];

.visible .entry store(.param .u32 factor)
{
  .reg .u32 %r<6>;
  .reg .u64 %d<4>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  ld.param.u32 %r4, [factor];
  mul.lo.u32 %r5, %r1, %r4;
  mov.u64 %d1, values;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r5;
  ret;
}

.visible .entry load(.param .u64 results)
{
  .reg .u32 %r<6>;
  .reg .u64 %d<6>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  mov.u64 %d1, values;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d3, %d1, %d2;
  ld.global.u32 %r4, [%d3];
  ld.param.u64 %d4, [results];
  add.u64 %d5, %d4, %d2;
  st.global.u32 [%d5], %r4;
  ret;
}
)";
static_assert(kCount * sizeof(uint32_t) == 4096);

absl::Status CheckResults(const uint32_t* results) {
  for (uint32_t i = 0; i < kCount; ++i) {
    if (results[i] == i * kFactor) continue;
    return absl::DataLossError(absl::StrCat("thread ", i, " of a kernel wrote ",
                                            results[i], " instead of ",
                                            i * kFactor));
  }
  return absl::OkStatus();
}

absl::Status RunKernels(const std::shared_ptr<const cuda::Context>& context) {
  const cuda::LaunchConfig config{.grid = {kBlocks}, .block = {kThreads}};
  HOLDFAST_ASSIGN_OR_RETURN(const auto stream,
                            cuda::Stream::Create(context, {}));
  HOLDFAST_ASSIGN_OR_RETURN(const auto module,
                            cuda::Module::Load(context, kPtx));
  HOLDFAST_ASSIGN_OR_RETURN(const auto store,
                            cuda::Kernel::Find(module, "store"));
  HOLDFAST_ASSIGN_OR_RETURN(const auto load,
                            cuda::Kernel::Find(module, "load"));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto memory,
      cuda::HostMemory::Allocate(context, kCount * sizeof(uint32_t)));
  const CUdeviceptr address = memory->device_address();
  const cuda::KernelArgument stored[] = {cuda::KernelArgument::Of(kFactor)};
  const cuda::KernelArgument loaded[] = {cuda::KernelArgument::Of(address)};
  HOLDFAST_RETURN_IF_ERROR(cuda::Launch(*stream, config, *store, stored));
  HOLDFAST_RETURN_IF_ERROR(cuda::Launch(*stream, config, *load, loaded));
  HOLDFAST_RETURN_IF_ERROR(stream->Synchronize());
  return CheckResults(reinterpret_cast<const uint32_t*>(memory->data()));
}

absl::Status Probe(const ProbeOptions& options) {
  // An executor's policy, with the driver's file resolved while all files can
  // be seen.
  cuda::DriverOptions driver_options = options.driver;
  std::string software;
  if (driver_options.choice != cuda::DriverChoice::kCuda) {
    software = cuda::FindSoftwareDriver(driver_options);
    if (!software.empty()) driver_options.software_driver_path = software;
  }
  Sandbox sandbox(options.role == SandboxRole::kCudaExecutor
                      ? CudaExecutorPolicy(software)
                      : SoftwareExecutorPolicy(software),
                  options.sandbox);
  HOLDFAST_ASSIGN_OR_RETURN(const auto driver,
                            cuda::LoadDriver(driver_options));
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Device device,
                            cuda::Device::Get(driver->api, options.device));
  HOLDFAST_ASSIGN_OR_RETURN(const auto context,
                            cuda::Context::RetainPrimary(device));
  sandbox.Close(driver->software ? SandboxRole::kSoftwareExecutor
                                 : SandboxRole::kCudaExecutor);
  return RunKernels(context);
}

}  // namespace

int ProbeMain(Channel channel, const ProbeOptions& options) {
  const absl::Status status = Probe(options);
  const absl::Status sent =
      channel.Send(status.ok() ? v1::Error() : ToError(status));
  if (!sent.ok()) LogWarning("to the supervisor: ", sent.message());
  return status.ok() ? 0 : 1;
}

}  // namespace holdfast
