// SPDX-License-Identifier: Apache-2.0
//
// How much of a kernel fits onto its device: cuOccupancy*. All are
// INVALID_ARGUMENT for what no launch could be, with the value in the message.
#ifndef HOLDFAST_CORE_CUDA_OCCUPANCY_H_
#define HOLDFAST_CORE_CUDA_OCCUPANCY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/cuda/kernel.h"
#include "core/cuda/launch.h"

namespace holdfast::cuda {

// Threads of a block, and the blocks with which they fill the device. Threads
// are those of one block. The grid is the fewest blocks with which the device
// is full.
struct BlockSize {
  uint32_t threads = 0;
  uint32_t min_grid = 0;
};

// `max_threads` of a block; 0: as many as the kernel allows. INVALID_ARGUMENT:
// `max_threads` is over the kernel's own limit. UNIMPLEMENTED: the driver lacks
// the function.
absl::StatusOr<BlockSize> MaxPotentialBlockSize(const Kernel& kernel,
                                                size_t dynamic_shared_bytes,
                                                uint32_t max_threads);

// Bytes for each block if so many blocks run on one multiprocessor. Counts
// beside the kernel's static shared memory. The message of an error names
// blocks and threads.
absl::StatusOr<size_t> AvailableDynamicSharedPerBlock(const Kernel& kernel,
                                                      uint32_t blocks,
                                                      uint32_t threads);

// Blocks of the largest cluster, and clusters that run at once. UNIMPLEMENTED:
// a driver without clusters. Both look at the config's grid, block, cluster and
// shared memory; its other attributes make no difference. Checked by
// CheckGeometry first.
absl::StatusOr<uint32_t> MaxPotentialClusterSize(const Kernel& kernel,
                                                 const LaunchConfig& config);
absl::StatusOr<uint32_t> MaxActiveClusters(const Kernel& kernel,
                                           const LaunchConfig& config);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_OCCUPANCY_H_
