// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/occupancy.h"

#include "core/base/status_macros.h"
#include "holdfast/v1/module_commands.pb.h"

namespace holdfast {
namespace {

void SetDim(const Dim3& dim, v1::Dim3* proto) {
  proto->set_x(dim.x);
  proto->set_y(dim.y);
  proto->set_z(dim.z);
}

void SetLaunch(const LaunchConfig& config, v1::ClusterQuery* query) {
  SetDim(config.grid, query->mutable_grid());
  SetDim(config.block, query->mutable_block());
  if (config.cluster) SetDim(*config.cluster, query->mutable_cluster());
  query->set_dynamic_shared_bytes(config.dynamic_shared_bytes);
}

}  // namespace

absl::StatusOr<uint64_t> Occupancy::Ask(v1::QueryOccupancy query) const {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::Occupancy answer,
                            kernel_.Query(std::move(query), device_));
  return answer.value();
}

absl::StatusOr<uint64_t> Occupancy::MaxActiveBlocksPerMultiprocessor(
    uint32_t threads, uint64_t dynamic_shared_bytes) const {
  v1::QueryOccupancy query;
  auto& blocks = *query.mutable_max_active_blocks_per_multiprocessor();
  blocks.set_threads(threads);
  blocks.set_dynamic_shared_bytes(dynamic_shared_bytes);
  return Ask(std::move(query));
}

absl::StatusOr<Occupancy::BlockSize> Occupancy::MaxPotentialBlockSize(
    uint64_t dynamic_shared_bytes, uint32_t max_threads) const {
  v1::QueryOccupancy query;
  auto& block = *query.mutable_max_potential_block_size();
  block.set_dynamic_shared_bytes(dynamic_shared_bytes);
  block.set_max_threads(max_threads);
  HOLDFAST_ASSIGN_OR_RETURN(const v1::Occupancy answer,
                            kernel_.Query(std::move(query), device_));
  return BlockSize{static_cast<uint32_t>(answer.value()), answer.min_grid()};
}

absl::StatusOr<uint64_t> Occupancy::AvailableDynamicSharedPerBlock(
    uint32_t blocks, uint32_t threads) const {
  v1::QueryOccupancy query;
  auto& shared = *query.mutable_available_dynamic_shared_per_block();
  shared.set_blocks(blocks);
  shared.set_threads(threads);
  return Ask(std::move(query));
}

absl::StatusOr<uint64_t> Occupancy::MaxPotentialClusterSize(
    const LaunchConfig& config) const {
  v1::QueryOccupancy query;
  SetLaunch(config, query.mutable_max_potential_cluster_size());
  return Ask(std::move(query));
}

absl::StatusOr<uint64_t> Occupancy::MaxActiveClusters(
    const LaunchConfig& config) const {
  v1::QueryOccupancy query;
  SetLaunch(config, query.mutable_max_active_clusters());
  return Ask(std::move(query));
}

}  // namespace holdfast
