// SPDX-License-Identifier: Apache-2.0
//
// Thread block clusters: the sizes that a launch may have.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_CLUSTER_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_CLUSTER_H_

#include "core/software/driver/device.h"
#include "core/software/driver/library.h"
#include "core/software/runtime/executable.h"
#include "cuda.h"

namespace holdfast::software {

// Gives a launch that names no cluster the one that the kernel requires on the
// device, if it requires one, and checks the cluster. A refusal has a reason
// (refusal.h).
// CUDA_ERROR_INVALID_CLUSTER_SIZE: it does not divide the grid, is over a
//   limit, or is not what the kernel requires.
// CUDA_ERROR_NOT_SUPPORTED: the device has no clusters.
CUresult ResolveCluster(const Kernel& kernel, const Device& device,
                        LaunchGeometry* geometry);

// Blocks of the largest cluster that the kernel may have on the device.
int MaxClusterBlocks(const Kernel& kernel, const Device& device);

// Blocks of the launch's clusters; 0: it has none.
uint32_t ClusterBlocks(const LaunchGeometry& geometry);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_CLUSTER_H_
