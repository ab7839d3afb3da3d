# SPDX-License-Identifier: Apache-2.0
"""Every way that bytes go: NumPy, pinned memory, buffers, fills, and parts of buffers."""

import holdfast
import numpy as np
from holdfast.core import Device, LaunchConfig, PinnedMemoryResource, Program, launch

SOURCE = """
extern "C" __global__ void add_one(float* x, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
"""
COUNT = 100_000
BYTES = 4 * COUNT

device = Device()
device.set_current()
stream = device.create_stream()
add_one = Program(SOURCE, "c++").compile("cubin").get_kernel("add_one")
config = LaunchConfig(grid=(COUNT + 255) // 256, block=256)
values = np.arange(COUNT, dtype=np.float32)

# An ordinary array: it may be changed again when copy_from returns, and has the bytes when copy_to
# returns.
x = device.allocate(BYTES, stream=stream)
x.copy_from(values, stream=stream)
launch(stream, config, add_one, x, np.uint32(COUNT))
assert (x.copy_to(np.empty_like(values), stream=stream) == values + 1).all()
print("NumPy to the device, a kernel, and back")

# Pinned memory: the device copies from and to it directly, as work of the stream.
pinned = holdfast.empty_pinned(COUNT, np.float32)
pinned[:] = values
x.copy_from(pinned, stream=stream)
launch(stream, config, add_one, x, np.uint32(COUNT))
x.copy_to(pinned, stream=stream)
stream.sync()
assert (pinned == values + 1).all()
print("the same by pinned memory, without a copy in between")

# Between buffers; pinned Buffers are cuda.core's spelling of pinned memory.
y = device.allocate(BYTES, stream=stream)
y.copy_from(x, stream=stream)
host = PinnedMemoryResource().allocate(BYTES, stream=stream)
y.copy_to(host, stream=stream)
stream.sync()
assert (np.frombuffer(host.memory, np.float32) == values + 1).all()
print("from buffer to buffer, and out")

# A fill of every element, and one of a part.
y.fill(np.float32(0.5), stream=stream)
half = y.sub(BYTES // 2, BYTES // 2)
half.fill(0, stream=stream)
launch(stream, config, add_one, y.handle + BYTES // 2, np.uint32(COUNT // 2))
found = y.copy_to(np.empty_like(values), stream=stream)
assert (found[: COUNT // 2] == 0.5).all() and (found[COUNT // 2 :] == 1).all()
print("fills, a part of a buffer, and a kernel on an address within")

for buffer in (half, host, y, x):
    buffer.close(stream)
