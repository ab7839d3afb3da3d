# SPDX-License-Identifier: Apache-2.0
"""PyTorch, CuPy, JAX and cuda.core work on Holdfast's memory in this process, without a copy; and
Holdfast's kernels on theirs.

Needs a GPU on this machine; says which of the libraries are here. A session and this process know
nothing of each other's streams, so each waits for its own before the other goes on.
"""

import os

import numpy as np
from holdfast.core import Buffer, Device, DeviceMemoryResource, LaunchConfig, Program, launch

COUNT = 1 << 20
TWICE = 'extern "C" __global__ void twice(float* x) { x[blockIdx.x * 256 + threadIdx.x] *= 2; }'


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
    options = core.ProgramOptions(arch=f"sm_{device.arch}")
    kernel = core.Program(TWICE, "c++", options).compile("cubin").get_kernel("twice")
    view = buffer.map_locally()
    config = core.LaunchConfig(grid=COUNT // 256, block=256)
    core.launch(stream, config, kernel, core.Buffer.from_handle(view.ptr, view.size))
    stream.sync()
    return f"cuda.core {core.__version__}"


def find_with_jax(buffer):
    """Its arrays never change, so that it reads."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    array = jax.dlpack.from_dlpack(buffer).view(np.float32)
    return f"JAX {jax.__version__}", float(array.max())


def torchs_memory(values):
    import torch

    tensor = torch.from_numpy(values).cuda()
    torch.cuda.synchronize()
    return f"PyTorch {torch.__version__}", tensor, tensor.data_ptr(), lambda: tensor.cpu().numpy()


def cupys_memory(values):
    import cupy

    array = cupy.asarray(values)
    cupy.cuda.Device().synchronize()
    return f"CuPy {cupy.__version__}", array, array.data.ptr, lambda: cupy.asnumpy(array)


def use_here(buffer, values, stream):
    """Libraries of this process use the daemon's memory."""
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
    buffer.copy_from(values, stream=stream)
    stream.sync()
    try:
        name, largest = find_with_jax(buffer)
    except ImportError as error:
        print(f"{error.name} is not here")
        return
    assert largest == COUNT - 1
    print(f"{name} has found the largest of {COUNT} numbers in place")


def use_there(kernel, values, stream):
    """A kernel of the daemon uses memory of libraries of this process."""
    for memory in (torchs_memory, cupys_memory):
        try:
            name, owner, pointer, read = memory(values)
        except ImportError as error:
            print(f"{error.name} is not here")
            continue
        buffer = Buffer.from_handle(pointer, values.nbytes, owner=owner)
        launch(stream, LaunchConfig(grid=COUNT // 256, block=256), kernel, buffer)
        stream.sync()
        buffer.close()
        assert (read() == 2 * values).all()
        print(f"a kernel of the daemon has doubled {COUNT} numbers of {name}'s in place")


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
    use_here(buffer, values, stream)
    kernel = Program(TWICE, "c++").compile("cubin").get_kernel("twice")
    use_there(kernel, values, stream)


if __name__ == "__main__":
    main()
