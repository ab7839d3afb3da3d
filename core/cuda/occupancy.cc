// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/occupancy.h"

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {
namespace {

CUfunction FunctionOf(const Kernel& kernel) {
  return reinterpret_cast<CUfunction>(kernel.handle());
}

absl::Status CheckThreads(const Kernel& kernel, uint32_t threads) {
  if (threads <= kernel.max_threads_per_block()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(threads, " threads a block; kernel ", kernel.name(),
                   " takes at most ", kernel.max_threads_per_block()));
}

using ClusterCall = CUresult (*)(int*, CUfunction, const CUlaunchConfig*);

absl::StatusOr<uint32_t> AskAboutClusters(const Kernel& kernel,
                                          const LaunchConfig& config,
                                          ClusterCall call, const char* name) {
  if (call == nullptr) {
    return absl::UnimplementedError(absl::StrCat("the driver has no ", name));
  }
  HOLDFAST_RETURN_IF_ERROR(CheckGeometry(config, kernel));
  ScopedContext current(kernel.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  CUlaunchConfig launch{};
  launch.gridDimX = config.grid.x;
  launch.gridDimY = config.grid.y;
  launch.gridDimZ = config.grid.z;
  launch.blockDimX = config.block.x;
  launch.blockDimY = config.block.y;
  launch.blockDimZ = config.block.z;
  launch.sharedMemBytes = config.dynamic_shared_bytes;
  CUlaunchAttribute cluster{};
  if (config.cluster.has_value()) {
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {config.cluster->x, config.cluster->y,
                                config.cluster->z};
    launch.attrs = &cluster;
    launch.numAttrs = 1;
  }
  int value = 0;
  HOLDFAST_RETURN_IF_ERROR(
      ToStatus(call(&value, FunctionOf(kernel), &launch), name));
  return static_cast<uint32_t>(value);
}

}  // namespace

absl::StatusOr<BlockSize> MaxPotentialBlockSize(const Kernel& kernel,
                                                size_t dynamic_shared_bytes,
                                                uint32_t max_threads) {
  const DriverApi& api = kernel.context().api();
  HOLDFAST_RETURN_IF_ERROR(CheckThreads(kernel, max_threads));
  HOLDFAST_CUDA_REQUIRE(api, cuOccupancyMaxPotentialBlockSize);
  ScopedContext current(kernel.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  int min_grid = 0;
  int threads = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuOccupancyMaxPotentialBlockSize(
               &min_grid, &threads, FunctionOf(kernel), nullptr,
               dynamic_shared_bytes, static_cast<int>(max_threads)));
  return BlockSize{static_cast<uint32_t>(threads),
                   static_cast<uint32_t>(min_grid)};
}

absl::StatusOr<size_t> AvailableDynamicSharedPerBlock(const Kernel& kernel,
                                                      uint32_t blocks,
                                                      uint32_t threads) {
  const DriverApi& api = kernel.context().api();
  HOLDFAST_RETURN_IF_ERROR(CheckThreads(kernel, threads));
  HOLDFAST_CUDA_REQUIRE(api, cuOccupancyAvailableDynamicSMemPerBlock);
  ScopedContext current(kernel.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  size_t bytes = 0;
  const absl::Status status =
      ToStatus(api.cuOccupancyAvailableDynamicSMemPerBlock(
                   &bytes, FunctionOf(kernel), static_cast<int>(blocks),
                   static_cast<int>(threads)),
               "cuOccupancyAvailableDynamicSMemPerBlock");
  if (status.ok()) return bytes;
  return WithPrefix(
      absl::StrCat(blocks, " blocks of ", threads, " threads of kernel ",
                   kernel.name(), " on one multiprocessor"),
      status);
}

absl::StatusOr<uint32_t> MaxPotentialClusterSize(const Kernel& kernel,
                                                 const LaunchConfig& config) {
  return AskAboutClusters(
      kernel, config, kernel.context().api().cuOccupancyMaxPotentialClusterSize,
      "cuOccupancyMaxPotentialClusterSize");
}

absl::StatusOr<uint32_t> MaxActiveClusters(const Kernel& kernel,
                                           const LaunchConfig& config) {
  return AskAboutClusters(kernel, config,
                          kernel.context().api().cuOccupancyMaxActiveClusters,
                          "cuOccupancyMaxActiveClusters");
}

}  // namespace holdfast::cuda
