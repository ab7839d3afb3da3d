# SPDX-License-Identifier: Apache-2.0
"""A walk through holdfast.core: compile, stage through pinned memory, launch, time, two streams."""

import numpy as np

from holdfast.core import (
    Device,
    LaunchConfig,
    PinnedMemoryResource,
    Program,
    ProgramOptions,
    launch,
)

CODE = r"""
extern "C" __global__ void scale(float* data, float factor, size_t n) {
  size_t i = threadIdx.x + blockIdx.x * (size_t)blockDim.x;
  if (i < n) data[i] *= factor;
}
"""

N = 1024
NBYTES = N * 4


def show_compile_error():
    try:
        Program('extern "C" __global__ void k() { not_a_real_symbol; }', "c++").compile("cubin")
    except Exception as error:
        print(next(line for line in str(error).splitlines() if "undefined" in line))


def time_launches(device, stream, config, scale, buffer):
    start = device.create_event({"timing_enabled": True})
    end = device.create_event({"timing_enabled": True})
    stream.record(start)
    for _ in range(100):
        launch(stream, config, scale, buffer, np.float32(1.0), np.uint64(N))
    stream.record(end)
    end.sync()
    print(f"100 launches took {end - start:.3f} ms")


def two_streams(device, config, scale, host, values):
    first = device.create_stream()
    second = device.create_stream()
    a = device.allocate(NBYTES, stream=first)
    b = device.allocate(NBYTES, stream=second)
    values[:] = np.arange(N, dtype=np.float32)
    a.copy_from(host, stream=first)
    b.copy_from(host, stream=second)
    launch(first, config, scale, a, np.float32(2.0), np.uint64(N))
    launch(second, config, scale, b, np.float32(5.0), np.uint64(N))
    second.wait(first)
    b.copy_from(a, stream=second)
    b.copy_to(host, stream=second)
    second.sync()
    assert np.array_equal(values, np.arange(N, dtype=np.float32) * 2.0)


def main():
    device = Device()
    device.set_current()
    print(device.name, device.compute_capability)
    scale = (
        Program(CODE, code_type="c++", options=ProgramOptions(arch=f"sm_{device.arch}"))
        .compile("cubin")
        .get_kernel("scale")
    )
    show_compile_error()

    stream = device.create_stream()
    host = PinnedMemoryResource().allocate(NBYTES, stream=stream)
    values = np.frombuffer(host.memory, np.float32)
    values[:] = np.arange(N, dtype=np.float32)
    buffer = device.allocate(NBYTES, stream=stream)
    buffer.copy_from(host, stream=stream)
    config = LaunchConfig(grid=(N + 255) // 256, block=256)
    launch(stream, config, scale, buffer, np.float32(3.0), np.uint64(N))
    buffer.copy_to(host, stream=stream)
    stream.sync()
    assert np.array_equal(values, np.arange(N, dtype=np.float32) * 3.0)

    time_launches(device, stream, config, scale, buffer)
    two_streams(device, config, scale, host, values)
    print("all results are right")


if __name__ == "__main__":
    main()
