# SPDX-License-Identifier: Apache-2.0
"""PyTorch, CuPy and cuda.core work on Holdfast's memory in this process, without a copy.

Needs a GPU on this machine; says which of the libraries are here. A session and this process know
nothing of each other's streams, so each waits for its own before the other goes on.
"""

import numpy as np
from holdfast.core import Device, DeviceMemoryResource

COUNT = 1 << 20


def double_with_torch(buffer):
    import torch

    tensor = torch.from_dlpack(buffer).view(torch.float32)
    tensor.mul_(2)
    torch.cuda.synchronize()
    return f"PyTorch {torch.__version__}"


def double_with_cupy(buffer):
    import cupy

    array = cupy.asarray(buffer).view(cupy.float32)
    array *= 2
    cupy.cuda.Device().synchronize()
    return f"CuPy {cupy.__version__}"


def double_with_cuda_core(buffer):
    from cuda import core

    device = core.Device(0)
    device.set_current()
    stream = device.create_stream()
    source = 'extern "C" __global__ void twice(float* x) { x[blockIdx.x * 256 + threadIdx.x] *= 2; }'
    options = core.ProgramOptions(arch=f"sm_{device.arch}")
    kernel = core.Program(source, "c++", options).compile("cubin").get_kernel("twice")
    view = buffer.map_locally()
    config = core.LaunchConfig(grid=COUNT // 256, block=256)
    core.launch(stream, config, kernel, core.Buffer.from_handle(view.ptr, view.size))
    stream.sync()
    return f"cuda.core {core.__version__}"


def main():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    if device.is_software or not device.session.address.startswith("unix:"):
        print("there is no GPU here that this process and the daemon share")
        return
    memory = DeviceMemoryResource(device, {"ipc_enabled": True})
    buffer = memory.allocate(4 * COUNT, stream=stream)
    values = np.arange(COUNT, dtype=np.float32)
    for double in (double_with_torch, double_with_cupy, double_with_cuda_core):
        buffer.copy_from(values, stream=stream)
        stream.sync()
        try:
            name = double(buffer)
        except ImportError as error:
            print(f"{error.name} is not here")
            continue
        found = buffer.copy_to(np.empty_like(values), stream=stream)
        assert (found == 2 * values).all()
        print(f"{name} has doubled {COUNT} numbers in place")


if __name__ == "__main__":
    main()
