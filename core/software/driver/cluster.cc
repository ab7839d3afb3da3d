// SPDX-License-Identifier: Apache-2.0
//
// The rules are those of a GPU of compute capability 9.0, error codes included.
#include "core/software/driver/cluster.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/software/driver/refusal.h"

namespace holdfast::software {
namespace {

using Dims = uint32_t[3];

std::string ToString(const Dims& dims) {
  return absl::StrCat("(", dims[0], ", ", dims[1], ", ", dims[2], ")");
}

bool IsGiven(const Dims& dims) {
  return dims[0] != 0 || dims[1] != 0 || dims[2] != 0;
}

bool Divides(const Dims& part, const Dims& whole) {
  for (int i = 0; i < 3; ++i) {
    if (part[i] == 0 || whole[i] % part[i] != 0) return false;
  }
  return true;
}

// Does not overflow: each extent divides one of a grid.
uint64_t Volume(const Dims& dims) {
  return uint64_t{dims[0]} * dims[1] * dims[2];
}

CUresult RefuseCluster(const Kernel& kernel, absl::string_view reason) {
  return Refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                absl::StrCat("kernel ", kernel.properties().name, reason));
}

CUresult CheckRequired(const Kernel& kernel, const Dims& required,
                       const Dims& cluster) {
  if (!IsGiven(cluster) && kernel.properties().cluster_must_be_set) {
    return RefuseCluster(kernel,
                         " needs a launch with clusters (.explicitcluster)");
  }
  if (IsGiven(required) && !std::equal(cluster, cluster + 3, required)) {
    return RefuseCluster(
        kernel, absl::StrCat(" requires clusters of ", ToString(required),
                             " blocks; this one has ", ToString(cluster)));
  }
  return CUDA_SUCCESS;
}

CUresult CheckSize(const Kernel& kernel, const Device& device,
                   const LaunchGeometry& g) {
  if (!Divides(g.cluster, g.grid)) {
    return RefuseCluster(
        kernel, absl::StrCat(": cluster ", ToString(g.cluster),
                             " does not divide grid ", ToString(g.grid)));
  }
  const uint64_t blocks = Volume(g.cluster);
  const auto limit = static_cast<uint64_t>(MaxClusterBlocks(kernel, device));
  if (blocks > limit) {
    return RefuseCluster(
        kernel,
        absl::StrCat(" has at most ", limit, " blocks a cluster",
                     limit == DeviceLimits::kClusterBlocks
                         ? " (CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_"
                           "ALLOWED gives it more)"
                         : "",
                     "; this one has ", blocks));
  }
  const uint32_t declared = kernel.properties().max_cluster_blocks;
  if (declared != 0 && blocks > declared) {
    return RefuseCluster(
        kernel, absl::StrCat(" has at most ", declared,
                             " blocks a cluster (.maxclusterrank); this one "
                             "has ",
                             blocks));
  }
  return CUDA_SUCCESS;
}

CUresult CheckPreferred(const Kernel& kernel, const LaunchGeometry& g) {
  if (!IsGiven(g.preferred_cluster)) return CUDA_SUCCESS;
  if (!IsGiven(g.cluster) || !Divides(g.cluster, g.preferred_cluster) ||
      !Divides(g.preferred_cluster, g.grid)) {
    return RefuseCluster(
        kernel,
        absl::StrCat(": the preferred cluster ", ToString(g.preferred_cluster),
                     " is no multiple of cluster ", ToString(g.cluster),
                     ", or does not divide grid ", ToString(g.grid)));
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult ResolveCluster(const Kernel& kernel, const Device& device,
                        LaunchGeometry* geometry) {
  uint32_t required[3];
  kernel.GetRequiredCluster(device.ordinal(), &required);
  if (!IsGiven(geometry->cluster)) {
    std::copy_n(required, 3, geometry->cluster);
  }
  CUresult result = CheckRequired(kernel, required, geometry->cluster);
  if (result == CUDA_SUCCESS) result = CheckPreferred(kernel, *geometry);
  if (result != CUDA_SUCCESS || !IsGiven(geometry->cluster)) return result;
  if (!device.has_clusters()) {
    if (Volume(geometry->cluster) == 1) return CUDA_SUCCESS;
    return Refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "a device below compute capability 9.0 has no clusters of "
                  "several blocks");
  }
  return CheckSize(kernel, device, *geometry);
}

int MaxClusterBlocks(const Kernel& kernel, const Device& device) {
  return kernel.allows_large_clusters(device.ordinal())
             ? DeviceLimits::kLargeClusterBlocks
             : DeviceLimits::kClusterBlocks;
}

uint32_t ClusterBlocks(const LaunchGeometry& geometry) {
  return static_cast<uint32_t>(Volume(geometry.cluster));
}

}  // namespace holdfast::software
