# SPDX-License-Identifier: Apache-2.0
"""Pinned memory as NumPy arrays, and as what kernels write to."""

import numpy as np

from checks import build, core, device, down, equal, finish, on_host, run, stream, works, zeros

scale = build(
    """extern "C" __global__ void scale(float* x, float v, size_t n) {
      size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
      if (i < n) x[i] *= v;
    }"""
).get_kernel("scale")
N = 1000


def array_of(host):
    return on_host(host, np.float32)


def staged(resource):
    host = resource.allocate(4 * N, stream=stream)
    stream.sync()
    values = array_of(host)
    values[:] = np.arange(N)
    buffer = device.allocate(4 * N, stream=stream)
    buffer.copy_from(host, stream=stream)
    run(scale, 4, 256, buffer, np.float32(3), np.uint64(N))
    buffer.copy_to(host, stream=stream)
    stream.sync()
    return values.copy()


def in_place(argument):
    host = core.LegacyPinnedMemoryResource().allocate(4 * N)
    values = array_of(host)
    values[:] = np.arange(N)
    run(scale, 4, 256, argument(host, values), np.float32(2), np.uint64(N))
    stream.sync()
    return values.copy()


for name in ("PinnedMemoryResource", "LegacyPinnedMemoryResource"):
    equal(f"there and back by {name}", works(name, lambda: staged(getattr(core, name)())), np.arange(N) * 3.0)
equal("a kernel uses the Buffer in place", works("Buffer", lambda: in_place(lambda host, values: host)), np.arange(N) * 2.0)
equal(
    "a kernel uses the array's address",
    works("ctypes.data", lambda: in_place(lambda host, values: values.ctypes.data)),
    np.arange(N) * 2.0,
)
finish()
