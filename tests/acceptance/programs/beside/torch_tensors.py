# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors as kernels' arguments, on PyTorch's stream, and Holdfast's memory as tensors."""

import sys

try:
    import torch

    torch.zeros(1, device="cuda")
except Exception as error:
    print(f"not run: no PyTorch with a GPU: {type(error).__name__}")
    sys.exit(77)

import numpy as np

from checks import build, core, device, equal, finish, run, stream, works

scale = build('extern "C" __global__ void scale(float* x, float v, size_t n) { size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; if (i < n) x[i] *= v; }').get_kernel("scale")
N = 10000


def in_place():
    x = torch.arange(N, dtype=torch.float32, device="cuda")
    torch.cuda.synchronize()
    run(scale, 40, 256, x.data_ptr(), np.float32(2), np.uint64(N))
    stream.sync()
    return x.cpu().numpy()


class OfTorch:
    """PyTorch's current stream, by the protocol."""

    def __cuda_stream__(self):
        return 0, torch.cuda.current_stream().cuda_stream


def ordered():
    theirs = device.create_stream(OfTorch())
    x = torch.zeros(N, dtype=torch.float32, device="cuda")
    for _ in range(50):
        x += 1
        core.launch(theirs, core.LaunchConfig(grid=40, block=256), scale, x.data_ptr(), np.float32(1), np.uint64(N))
    return x.cpu().numpy()


def as_tensor():
    resource = core.DeviceMemoryResource(device, core.DeviceMemoryResourceOptions(ipc_enabled=True))
    buffer = resource.allocate(4 * N, stream=stream)
    buffer.copy_from(np.arange(N, dtype=np.float32), stream=stream)
    stream.sync()
    tensor = torch.from_dlpack(buffer).view(torch.float32)
    tensor.mul_(3)
    torch.cuda.synchronize()
    return buffer.copy_to(np.zeros(N, np.float32), stream=stream)


equal("a tensor's pointer", works("data_ptr", in_place), np.arange(N) * 2.0)
equal("on PyTorch's stream", works("__cuda_stream__", ordered), np.full(N, 50.0))
equal("a Buffer as a tensor", works("from_dlpack", as_tensor), np.arange(N) * 3.0)
finish()
