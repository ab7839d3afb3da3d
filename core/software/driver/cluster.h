// SPDX-License-Identifier: Apache-2.0
//
// Thread block clusters: the cluster sizes that a launch may have.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_CLUSTER_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_CLUSTER_H_

#include "core/software/driver/device.h"
#include "core/software/driver/library.h"
#include "core/software/runtime/executable.h"
#include "cuda.h"

namespace holdfast::software {

// Checks the cluster of a launch. If the launch names no cluster and the kernel
// requires a cluster on the device, first sets the required cluster. Each error
// has a reason (refusal.h).
// CUDA_ERROR_INVALID_CLUSTER_SIZE: the cluster does not divide the grid,
//   exceeds a limit, or differs from the cluster that the kernel requires; or
//   the preferred cluster does not fit the cluster or the grid.
// CUDA_ERROR_NOT_SUPPORTED: the cluster has several blocks, and the device has
//   no clusters.
CUresult ResolveCluster(const Kernel& kernel, const Device& device,
                        LaunchGeometry* geometry);

// Returns the number of blocks of the largest cluster that the kernel may have
// on the device.
int MaxClusterBlocks(const Kernel& kernel, const Device& device);

// Returns the number of blocks of each cluster of the launch; 0 if the launch
// has no clusters.
uint32_t ClusterBlocks(const LaunchGeometry& geometry);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_CLUSTER_H_
