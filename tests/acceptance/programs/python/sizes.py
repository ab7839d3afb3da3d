# SPDX-License-Identifier: Apache-2.0
"""Sizes: beyond 64 bits, negative, of NumPy's types, beyond 32 bits."""

import numpy as np

from checks import build, core, device, down, equal, finish, refused, run, stream, works, zeros

count = build('extern "C" __global__ void count(unsigned* x) { if (threadIdx.x == 0) atomicAdd(x, 1u); }').get_kernel("count")
out = zeros(1, np.uint32)
for size in (2**64 + 24, 2**70, -1):
    refused(f"allocate({size})", ".", lambda: (device.allocate(size, stream=stream), stream.sync()))
for grid, block, shared in ((2**32 + 3, 1, 0), (1, 2**32 + 1, 0), (1, 1, 2**32 + 64), (-1, 1, 0), (0, 1, 0)):
    config = {"shmem_size": shared} if shared else {}
    refused(f"grid {grid}, block {block}, {shared} bytes of shared memory", ".", lambda: (run(count, grid, block, out, **config), stream.sync()))
equal("nothing of it has run", down(out, np.uint32), [0])
buffer = works("a size that is a numpy.int64", lambda: device.allocate(np.int64(64), stream=stream))
equal("its size", buffer.size if buffer else None, 64)
works("a grid of numpy.int64", lambda: run(count, int(np.int64(3)), np.int64(32), out))
equal("its blocks", down(out, np.uint32), [3])
finish()
