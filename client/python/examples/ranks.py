# SPDX-License-Identifier: Apache-2.0
"""A line is fitted by the ranks of an MPI job, each with the daemon of its own node.

    mpirun -n 4 python3 ranks.py

Each rank has a part of the points on its device and computes the gradient of its part. MPI adds the
gradients up. Without mpi4py the program is one rank.
"""

import argparse

import holdfast
import numpy as np
from holdfast.core import Device, DeviceMemoryResource, LaunchConfig, Program, launch

try:
    from mpi4py import MPI

    rank, size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()

    def add_up(floats):
        """Makes the floats the sum of all ranks' floats."""
        MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, [floats, MPI.FLOAT])

except ImportError:
    rank, size, add_up = 0, 1, lambda floats: None

SOURCE = """
extern "C" __global__ void gradient(const float* x, const float* y, int n, const float* line, float* sums) {
  float slope = 0, offset = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float error = line[0] * x[i] + line[1] - y[i];
    slope += error * x[i];
    offset += error;
  }
  atomicAdd(&sums[0], slope);
  atomicAdd(&sums[1], offset);
}
extern "C" __global__ void descend(const float* sums, float rate, float* line) {
  line[threadIdx.x] -= rate * sums[threadIdx.x];
}
"""
POINTS, STEPS = 40_000, 60  # points of all ranks together

arguments = argparse.ArgumentParser(description="Fits a line to points of several ranks.")
arguments.add_argument(
    "--mapped", action="store_true", help="add up in device memory: with a GPU by CUDA-aware MPI only"
)
mapped = arguments.parse_args().mapped
points = np.random.default_rng(7).random(POINTS, dtype="f4")
own = np.ascontiguousarray(points[rank::size])

device = Device()  # of the daemon that HOLDFAST_ADDRESS names, as a scheduler sets it on each node
device.set_current()
stream = device.create_stream()
program = Program(SOURCE, "c++").compile("cubin", name_expressions=("gradient", "descend"))
gradient, descend = program.get_kernel("gradient"), program.get_kernel("descend")
x, y, line = (device.allocate(n, stream=stream) for n in (own.nbytes, own.nbytes, 8))
x.copy_from(own, stream=stream)
y.copy_from(3 * own - 1, stream=stream)
line.fill(0, stream=stream)
sums = DeviceMemoryResource(device, {"ipc_enabled": mapped}).allocate(8, stream=stream)
sums_here = sums.map_locally() if mapped else holdfast.empty_pinned(2, "f4")

for _ in range(STEPS):
    sums.fill(0, stream=stream)
    launch(stream, LaunchConfig(grid=8, block=128), gradient, x, y, len(own), line, sums)
    if not mapped:
        sums.copy_to(sums_here, stream=stream)
    stream.sync()
    add_up(sums_here)
    if not mapped:
        sums.copy_from(sums_here, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=2), descend, sums, np.float32(1.5 / POINTS), line)

slope, offset = line.copy_to(np.empty(2, "f4"), stream=stream)
if rank == 0:
    print(f"{size} {'rank' if size == 1 else 'ranks'}: y = {slope:.1f} x {offset:+.1f}")
