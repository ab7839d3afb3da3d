// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/base/status_macros.h"
#include "core/cuda/occupancy.h"
#include "server/executor/command/command_handlers.h"

namespace holdfast::executor {
namespace {

cuda::Dim3 ToDim3(const v1::Dim3& dim) { return {dim.x(), dim.y(), dim.z()}; }

cuda::LaunchConfig ToConfig(const v1::ClusterQuery& query, bool with_cluster) {
  cuda::LaunchConfig config;
  config.grid = ToDim3(query.grid());
  config.block = ToDim3(query.block());
  if (with_cluster && query.has_cluster()) {
    config.cluster = ToDim3(query.cluster());
  }
  config.dynamic_shared_bytes = query.dynamic_shared_bytes();
  return config;
}

absl::StatusOr<v1::Occupancy> Value(absl::StatusOr<uint64_t> value) {
  if (!value.ok()) return value.status();
  v1::Occupancy occupancy;
  occupancy.set_value(*value);
  return occupancy;
}

absl::StatusOr<v1::Occupancy> Query(const cuda::Kernel& kernel,
                                    const v1::QueryOccupancy& command) {
  switch (command.query_case()) {
    case v1::QueryOccupancy::kMaxActiveBlocksPerMultiprocessor: {
      const auto& query = command.max_active_blocks_per_multiprocessor();
      return Value(kernel.MaxActiveBlocksPerMultiprocessor(
          query.threads(), query.dynamic_shared_bytes()));
    }
    case v1::QueryOccupancy::kMaxPotentialBlockSize: {
      const auto& query = command.max_potential_block_size();
      HOLDFAST_ASSIGN_OR_RETURN(
          const cuda::BlockSize size,
          cuda::MaxPotentialBlockSize(kernel, query.dynamic_shared_bytes(),
                                      query.max_threads()));
      v1::Occupancy occupancy;
      occupancy.set_value(size.threads);
      occupancy.set_min_grid(size.min_grid);
      return occupancy;
    }
    case v1::QueryOccupancy::kAvailableDynamicSharedPerBlock: {
      const auto& query = command.available_dynamic_shared_per_block();
      return Value(cuda::AvailableDynamicSharedPerBlock(kernel, query.blocks(),
                                                        query.threads()));
    }
    case v1::QueryOccupancy::kMaxPotentialClusterSize:
      return Value(cuda::MaxPotentialClusterSize(
          kernel, ToConfig(command.max_potential_cluster_size(), false)));
    case v1::QueryOccupancy::kMaxActiveClusters:
      return Value(cuda::MaxActiveClusters(
          kernel, ToConfig(command.max_active_clusters(), true)));
    case v1::QueryOccupancy::QUERY_NOT_SET:
      break;
  }
  return absl::UnimplementedError("a query that this server does not know");
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::QueryOccupancy& command) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const cuda::Kernel* kernel,
      context.resources.KernelOn(command.kernel(), command.device()));
  HOLDFAST_ASSIGN_OR_RETURN(v1::Occupancy occupancy, Query(*kernel, command));
  v1::Result result;
  *result.mutable_occupancy() = std::move(occupancy);
  context.Reply(std::move(result));
  return absl::OkStatus();
}

}  // namespace holdfast::executor
