# SPDX-License-Identifier: Apache-2.0
"""Blocks that work together in clusters, and read each other's shared memory."""

import numpy as np
from holdfast.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = """
__device__ unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ void sync_cluster() {
  asm volatile("barrier.cluster.arrive.aligned;\\n barrier.cluster.wait.aligned;" ::: "memory");
}
// The word at the same place in the shared memory of another block of the cluster.
__device__ unsigned read_of(const unsigned* shared, unsigned rank) {
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  unsigned value;
  asm volatile(
      "{ .reg .u32 there;\\n mapa.shared::cluster.u32 there, %1, %2;\\n"
      " ld.shared::cluster.u32 %0, [there]; }"
      : "=r"(value) : "r"(address), "r"(rank) : "memory");
  return value;
}

// Each block writes its rank, and reads that of the next block of its cluster.
extern "C" __global__ void next_rank(unsigned* out, unsigned blocks) {
  __shared__ unsigned mine;
  if (threadIdx.x == 0) mine = rank_in_cluster();
  sync_cluster();
  if (threadIdx.x == 0) out[blockIdx.x] = read_of(&mine, (rank_in_cluster() + 1) % blocks);
  sync_cluster();  // nobody leaves while its memory is read
}
"""
CLUSTERS, BLOCKS = 3, 4

device = Device()
device.set_current()
if not getattr(device.properties, "cluster_launch", False):
    print(f"{device.name} has no clusters")
else:
    stream = device.create_stream()
    options = ProgramOptions(arch=f"sm_{device.arch}")
    kernel = Program(SOURCE, "c++", options).compile("cubin").get_kernel("next_rank")
    config = LaunchConfig(grid=CLUSTERS, cluster=BLOCKS, block=32)
    out = device.allocate(4 * CLUSTERS * BLOCKS, stream=stream)
    launch(stream, config, kernel, out, BLOCKS)
    found = out.copy_to(np.empty(CLUSTERS * BLOCKS, np.uint32), stream=stream)
    assert found.tolist() == [(i + 1) % BLOCKS for i in range(BLOCKS)] * CLUSTERS
    print(f"{CLUSTERS} clusters of {BLOCKS} blocks read each other's shared memory: {found}")
