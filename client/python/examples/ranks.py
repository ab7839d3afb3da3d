# SPDX-License-Identifier: Apache-2.0
"""A line is fitted by the ranks of an MPI job, each with the daemon of its own node.

    mpirun -n 4 python3 ranks.py

Each rank has a part of the points on its device and computes the gradient of its part. MPI adds the
gradients up in page-locked memory, from which the device copies directly. Without mpi4py the program
is one rank.
"""

import holdfast
import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch

try:
    from mpi4py import MPI

    rank, size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()

    def add_up(array):
        """Makes the array the sum of all ranks' arrays."""
        MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, array)

except ImportError:
    rank, size = 0, 1

    def add_up(array):
        """There is nothing to add."""


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
"""

POINTS = 40_000  # of all ranks together
STEPS = 60

everything = np.random.default_rng(7).random(POINTS, dtype="f4")
own = np.ascontiguousarray(everything[rank::size])

device = Device()  # of the daemon that HOLDFAST_ADDRESS names, as a scheduler sets it on each node
device.set_current()
stream = device.create_stream()
kernel = Program(SOURCE, "c++").compile("cubin").get_kernel("gradient")
x, y = (device.allocate(own.nbytes, stream=stream) for _ in range(2))
x.copy_from(own, stream=stream)
y.copy_from(3 * own - 1, stream=stream)
line_there, sums_there = (device.allocate(8, stream=stream) for _ in range(2))
line, sums = holdfast.empty_pinned(2, "f4"), holdfast.empty_pinned(2, "f4")
line[:] = 0

for _ in range(STEPS):
    line_there.copy_from(line, stream=stream)
    sums_there.fill(0, stream=stream)
    launch(stream, LaunchConfig(grid=8, block=128), kernel, x, y, len(own), line_there, sums_there)
    sums_there.copy_to(sums, stream=stream)
    stream.sync()
    add_up(sums)
    line -= 1.5 * sums / POINTS

if rank == 0:
    print(f"{size} {'rank' if size == 1 else 'ranks'}: y = {line[0]:.1f} x {line[1]:+.1f}")
