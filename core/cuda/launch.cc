// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/launch.h"

#include <array>

#include "absl/container/fixed_array.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/cuda/launch_attribute_list.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {
namespace {

std::string ToString(const Dim3& dim) {
  return absl::StrCat("(", dim.x, ", ", dim.y, ", ", dim.z, ")");
}

uint64_t Volume(const Dim3& dim) { return uint64_t{dim.x} * dim.y * dim.z; }

absl::Status CheckDimension(absl::string_view what, const Dim3& dim,
                            const std::array<uint32_t, 3>& limit) {
  if (dim.x == 0 || dim.y == 0 || dim.z == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", ToString(dim), " has a dimension that is 0"));
  }
  if (dim.x > limit[0] || dim.y > limit[1] || dim.z > limit[2]) {
    return absl::OutOfRangeError(
        absl::StrCat(what, " ", ToString(dim), " exceeds the device's limit ",
                     ToString({limit[0], limit[1], limit[2]})));
  }
  return absl::OkStatus();
}

absl::Status CheckThreads(const LaunchConfig& config, const Kernel& kernel) {
  const uint64_t threads = Volume(config.block);
  const uint32_t device = kernel.context().limits().max_threads_per_block;
  if (threads > device) {
    return absl::OutOfRangeError(
        absl::StrCat("block ", ToString(config.block), " has ", threads,
                     " threads; the device's limit is ", device));
  }
  if (threads > kernel.max_threads_per_block()) {
    return absl::OutOfRangeError(
        absl::StrCat("block ", ToString(config.block), " has ", threads,
                     " threads; the limit of kernel ", kernel.name(), " is ",
                     kernel.max_threads_per_block()));
  }
  return absl::OkStatus();
}

absl::Status NoClusters(const Device& device) {
  const absl::StatusOr<DeviceDescription> description = device.Describe();
  return absl::FailedPreconditionError(absl::StrCat(
      "device ", device.ordinal(),
      description.ok() ? absl::StrCat(" (", description->name, ")") : "",
      " has no thread block clusters; they need compute capability 9.0 or "
      "higher"));
}

// The driver says only that a value is invalid where the kernel requires
// another block (.reqntid, __block_size__).
std::string DescribeLaunch(const LaunchConfig& config, const Kernel& kernel,
                           CUresult result) {
  const uint32_t most = kernel.max_threads_per_block();
  std::string text = absl::StrCat("launch of kernel ", kernel.name());
  if (result == CUDA_ERROR_INVALID_VALUE && Volume(config.block) != most) {
    absl::StrAppend(&text, " with block ", ToString(config.block),
                    " (if the kernel requires a block, by .reqntid, it has ",
                    most, " threads)");
  }
  return text;
}

absl::Status CheckCluster(const LaunchConfig& config, const Kernel& kernel) {
  if (!config.cluster.has_value()) return absl::OkStatus();
  const Dim3& cluster = *config.cluster;
  if (!kernel.context().limits().cluster_launch) {
    return NoClusters(kernel.context().device());
  }
  if (Volume(cluster) == 0 || config.grid.x % cluster.x != 0 ||
      config.grid.y % cluster.y != 0 || config.grid.z % cluster.z != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cluster ", ToString(cluster), " does not divide grid ",
                     ToString(config.grid)));
  }
  return absl::OkStatus();
}

// A cooperative grid must be resident as a whole.
absl::Status CheckCooperative(const LaunchConfig& config,
                              const Kernel& kernel) {
  if (!config.cooperative) return absl::OkStatus();
  const DeviceLimits& limits = kernel.context().limits();
  if (!limits.cooperative_launch) {
    return absl::FailedPreconditionError(
        absl::StrCat("device ", kernel.context().device().ordinal(),
                     " does not support cooperative launches"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const int per_multiprocessor,
                            kernel.MaxActiveBlocksPerMultiprocessor(
                                static_cast<uint32_t>(Volume(config.block)),
                                config.dynamic_shared_bytes));
  const uint64_t limit = uint64_t{limits.multiprocessors} *
                         static_cast<uint64_t>(per_multiprocessor);
  if (Volume(config.grid) > limit) {
    return absl::OutOfRangeError(
        absl::StrCat("cooperative grid ", ToString(config.grid), " has ",
                     Volume(config.grid), " blocks; the limit of kernel ",
                     kernel.name(), " with this block is ", limit));
  }
  return absl::OkStatus();
}

CUlaunchConfig ToDriver(const LaunchConfig& config, const Stream& stream,
                        LaunchAttributeList* attributes) {
  CUlaunchConfig launch{};
  launch.gridDimX = config.grid.x;
  launch.gridDimY = config.grid.y;
  launch.gridDimZ = config.grid.z;
  launch.blockDimX = config.block.x;
  launch.blockDimY = config.block.y;
  launch.blockDimZ = config.block.z;
  launch.sharedMemBytes = config.dynamic_shared_bytes;
  launch.hStream = stream.handle();
  launch.attrs = attributes->data();
  launch.numAttrs = attributes->size();
  return launch;
}

}  // namespace

absl::Status CheckGeometry(const LaunchConfig& config, const Kernel& kernel) {
  const DeviceLimits& limits = kernel.context().limits();
  HOLDFAST_RETURN_IF_ERROR(
      CheckDimension("grid", config.grid, limits.max_grid));
  HOLDFAST_RETURN_IF_ERROR(
      CheckDimension("block", config.block, limits.max_block));
  HOLDFAST_RETURN_IF_ERROR(CheckThreads(config, kernel));
  return CheckCluster(config, kernel);
}

absl::Status CheckArguments(const Kernel& kernel,
                            absl::Span<const KernelArgument> arguments) {
  const auto& parameters = kernel.parameters();
  if (arguments.size() != parameters.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel ", kernel.name(), " takes ", parameters.size(),
        parameters.size() == 1 ? " argument" : " arguments", ", ",
        arguments.size(), arguments.size() == 1 ? " was" : " were", " given"));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].size == parameters[i].size) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "argument ", i, " of kernel ", kernel.name(), " has ",
        arguments[i].size, " bytes, its parameter has ", parameters[i].size));
  }
  return absl::OkStatus();
}

absl::Status PrepareLaunch(const LaunchConfig& config, const Kernel& kernel,
                           absl::Span<const KernelArgument> arguments) {
  HOLDFAST_RETURN_IF_ERROR(CheckArguments(kernel, arguments));
  HOLDFAST_RETURN_IF_ERROR(CheckGeometry(config, kernel));
  HOLDFAST_RETURN_IF_ERROR(
      kernel.EnsureDynamicShared(config.dynamic_shared_bytes));
  return CheckCooperative(config, kernel);
}

absl::Status Launch(const Stream& stream, const LaunchConfig& config,
                    const Kernel& kernel,
                    absl::Span<const KernelArgument> arguments) {
  HOLDFAST_RETURN_IF_ERROR(PrepareLaunch(config, kernel, arguments));
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  absl::FixedArray<void*, 16> values(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    values[i] = const_cast<void*>(arguments[i].data);
  }
  LaunchAttributeList attributes(config);
  const CUlaunchConfig launch = ToDriver(config, stream, &attributes);
  const CUresult result = stream.context().api().cuLaunchKernelEx(
      &launch, reinterpret_cast<CUfunction>(kernel.handle()), values.data(),
      nullptr);
  if (result == CUDA_SUCCESS) [[likely]]
    return absl::OkStatus();
  return WithPrefix(DescribeLaunch(config, kernel, result),
                    ToStatus(result, "cuLaunchKernelEx"));
}

}  // namespace holdfast::cuda
