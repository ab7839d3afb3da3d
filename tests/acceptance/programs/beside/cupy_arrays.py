# SPDX-License-Identifier: Apache-2.0
"""CuPy's arrays as kernels' arguments, in place, and Holdfast's memory as CuPy's."""

import sys

try:
    import cupy as cp

    cp.cuda.Device(0).compute_capability
except Exception as error:
    print(f"not run: no CuPy with a GPU: {type(error).__name__}")
    sys.exit(77)

import numpy as np

from checks import build, core, device, equal, finish, run, stream, works

scale = build('extern "C" __global__ void scale(float* x, float v, size_t n) { size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; if (i < n) x[i] *= v; }').get_kernel("scale")
N = 10000


def in_place(argument):
    x = cp.arange(N, dtype=cp.float32)
    cp.cuda.Device().synchronize()
    run(scale, 40, 256, argument(x), np.float32(2), np.uint64(N))
    stream.sync()
    return cp.asnumpy(x)


equal("an array's pointer", works("data.ptr", lambda: in_place(lambda x: x.data.ptr)), np.arange(N) * 2.0)
equal("a part's pointer", works("a part", lambda: in_place(lambda x: x[:].data.ptr)), np.arange(N) * 2.0)


def as_cupy():
    resource = core.DeviceMemoryResource(device, core.DeviceMemoryResourceOptions(ipc_enabled=True))
    buffer = resource.allocate(4 * N, stream=stream)
    buffer.copy_from(np.arange(N, dtype=np.float32), stream=stream)
    stream.sync()
    array = cp.from_dlpack(buffer).view(cp.float32)
    array *= 3
    cp.cuda.Device().synchronize()
    run(scale, 40, 256, buffer, np.float32(2), np.uint64(N))
    stream.sync()
    return cp.asnumpy(array)


equal("a Buffer as CuPy's array", works("from_dlpack", as_cupy), np.arange(N) * 6.0)
finish()
