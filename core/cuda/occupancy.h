// SPDX-License-Identifier: Apache-2.0
//
// The occupancy of a device by a kernel: cuOccupancy*. All functions fail with
// INVALID_ARGUMENT, and name the value, if no launch could have these
// arguments.
#ifndef HOLDFAST_CORE_CUDA_OCCUPANCY_H_
#define HOLDFAST_CORE_CUDA_OCCUPANCY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/cuda/kernel.h"
#include "core/cuda/launch.h"

namespace holdfast::cuda {

// The threads of one block, and the least number of such blocks that fills the
// device.
struct BlockSize {
  uint32_t threads = 0;
  uint32_t min_grid = 0;
};

// `max_threads` is the limit for a block; 0: the kernel's limit.
// INVALID_ARGUMENT: `max_threads` is over the kernel's own limit.
// UNIMPLEMENTED: the driver lacks the function.
absl::StatusOr<BlockSize> MaxPotentialBlockSize(const Kernel& kernel,
                                                size_t dynamic_shared_bytes,
                                                uint32_t max_threads);

// Returns the bytes that each block can have if so many blocks run on one
// multiprocessor, in addition to the kernel's static shared memory. Errors name
// blocks and threads.
absl::StatusOr<size_t> AvailableDynamicSharedPerBlock(const Kernel& kernel,
                                                      uint32_t blocks,
                                                      uint32_t threads);

// Return the blocks of the largest cluster, and the number of clusters that run
// at once. Only the config's grid, block, cluster and shared memory count. Both
// call CheckGeometry first. UNIMPLEMENTED: the driver has no clusters.
absl::StatusOr<uint32_t> MaxPotentialClusterSize(const Kernel& kernel,
                                                 const LaunchConfig& config);
absl::StatusOr<uint32_t> MaxActiveClusters(const Kernel& kernel,
                                           const LaunchConfig& config);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_OCCUPANCY_H_
