# SPDX-License-Identifier: Apache-2.0
"""The way that an introduction takes: device, kernel, memory, launch, time, graph; as a newcomer types it."""

import numpy as np

from checks import core, equal, finish, holds, on_host, works

dev = core.Device()
dev.set_current()
holds("the device has a name", isinstance(dev.name, str) and dev.name)
holds("and a compute capability", dev.compute_capability.major >= 5 and dev.arch == f"{dev.compute_capability.major}{dev.compute_capability.minor}")
holds("and processors", dev.properties.multiprocessor_count > 0)

CODE = r"""
extern "C" __global__ void polynomial(const float* x, float* y, float a, float b, size_t n) {
  size_t i = threadIdx.x + blockIdx.x * (size_t)blockDim.x;
  if (i < n) y[i] = (a * x[i] + b) * x[i];
}
"""
program = core.Program(CODE, code_type="c++", options=core.ProgramOptions(std="c++17", arch=f"sm_{dev.arch}"))
kernel = program.compile("cubin").get_kernel("polynomial")
stream = dev.create_stream()
n = 5000
nbytes = n * np.dtype(np.float32).itemsize


def polynomial():
    pinned = core.PinnedMemoryResource()
    host = pinned.allocate(nbytes, stream=stream)
    x = dev.allocate(nbytes, stream=stream)
    y = dev.allocate(nbytes, stream=stream)
    stream.sync()
    values = on_host(host, np.float32)
    values[:] = np.arange(n, dtype=np.float32) / n
    start = values.copy()
    x.copy_from(host, stream=stream)
    config = core.LaunchConfig(grid=(n + 255) // 256, block=256)
    core.launch(stream, config, kernel, x, y, np.float32(2), np.float32(3), np.uint64(n))
    y.copy_to(host, stream=stream)
    stream.sync()
    holds("the values", np.allclose(values, (2 * start + 3) * start, rtol=1e-6), values[:4])
    for buffer in (x, y, host):
        buffer.close()
    return x.handle


equal("a closed Buffer's handle", works("the program", polynomial), 0)


def replayed():
    buffer = dev.allocate(nbytes, stream=stream)
    buffer.fill(0, stream=stream)
    stream.sync()
    builder = dev.create_graph_builder()
    builder.begin_building()
    config = core.LaunchConfig(grid=(n + 255) // 256, block=256)
    core.launch(builder, config, kernel, buffer, buffer, np.float32(1), np.float32(1), np.uint64(n))
    graph = builder.end_building().complete()
    graph.upload(stream)
    graph.launch(stream)
    stream.sync()
    buffer.close(stream)
    stream.close()
    return True


holds("a graph, uploaded and launched", works("graph", replayed))
finish()
