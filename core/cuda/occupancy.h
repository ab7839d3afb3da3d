// SPDX-License-Identifier: Apache-2.0
//
// The occupancy of a device by a kernel: cuOccupancy*. All functions return
// INVALID_ARGUMENT, with the wrong value in the message, if no launch could
// have these arguments, and UNIMPLEMENTED if the driver lacks the function.
#ifndef HOLDFAST_CORE_CUDA_OCCUPANCY_H_
#define HOLDFAST_CORE_CUDA_OCCUPANCY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/cuda/kernel.h"
#include "core/cuda/launch.h"

namespace holdfast::cuda {

// The size of a block, and the least number of such blocks that fills the
// device.
struct BlockSize {
  uint32_t threads = 0;
  uint32_t min_grid = 0;
};

// Returns the block size with the best occupancy. `max_threads` limits the
// threads of a block; 0: only the kernel's limit applies.
// `dynamic_shared_bytes` is for each block. INVALID_ARGUMENT: `max_threads` is
// over the kernel's own limit.
absl::StatusOr<BlockSize> MaxPotentialBlockSize(const Kernel& kernel,
                                                size_t dynamic_shared_bytes,
                                                uint32_t max_threads);

// Returns the bytes of dynamic shared memory that each block can have if
// `blocks` blocks of `threads` threads run on one multiprocessor. The messages
// of errors have both numbers.
absl::StatusOr<size_t> AvailableDynamicSharedPerBlock(const Kernel& kernel,
                                                      uint32_t blocks,
                                                      uint32_t threads);

// Return the number of blocks of the largest possible cluster, and the number
// of clusters that run at the same time. They use only grid, block, cluster and
// dynamic shared memory of the config, and fail as CheckGeometry does.
absl::StatusOr<uint32_t> MaxPotentialClusterSize(const Kernel& kernel,
                                                 const LaunchConfig& config);
absl::StatusOr<uint32_t> MaxActiveClusters(const Kernel& kernel,
                                           const LaunchConfig& config);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_OCCUPANCY_H_
