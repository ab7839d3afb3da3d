// SPDX-License-Identifier: Apache-2.0
//
// The sizes of thread block clusters that launches may have.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_CLUSTER_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_CLUSTER_H_

#include "core/software/driver/device.h"
#include "core/software/driver/library.h"
#include "core/software/runtime/executable.h"
#include "cuda.h"

namespace holdfast::software {

// Checks the cluster of a launch. If the launch has no cluster and the kernel
// requires one on the device, first sets the cluster of *geometry to the
// required cluster. Stores a reason for each error (refusal.h).
// CUDA_ERROR_INVALID_CLUSTER_SIZE: the cluster does not divide the grid,
//   exceeds a limit, or differs from the cluster that the kernel requires; or
//   the preferred cluster is not a multiple of the cluster or does not divide
//   the grid.
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
