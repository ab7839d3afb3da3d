# SPDX-License-Identifier: Apache-2.0
"""A pipeline as a graph: recorded once from ordinary calls, launched many times.

Every launch draws new samples, and looks at them in two ways at once. A launch is one command,
however many nodes the graph has.
"""

import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch
from holdfast.core.graph import GraphBuilder

SOURCE = """
extern "C" __global__ void draw(unsigned* x) {
  unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
  x[i] = x[i] * 1664525u + 1013904223u;
}
extern "C" __global__ void largest(const unsigned* x, unsigned* result) {
  atomicMax(result, x[threadIdx.x + blockIdx.x * blockDim.x]);
}
extern "C" __global__ void count_odd(const unsigned* x, unsigned* result) {
  atomicAdd(result, x[threadIdx.x + blockIdx.x * blockDim.x] >> 16 & 1);
}
"""
COUNT = 4096
LAUNCHES = 100

device = Device()
device.set_current()
stream = device.create_stream()
module = Program(SOURCE, "c++").compile("cubin")
draw, largest, count_odd = (module.get_kernel(n) for n in ("draw", "largest", "count_odd"))
config = LaunchConfig(grid=COUNT // 256, block=256)

samples = np.arange(COUNT, dtype=np.uint32)
x = device.allocate(samples.nbytes, stream=stream)
results = device.allocate(8, stream=stream)
x.copy_from(samples, stream=stream)

builder = device.create_graph_builder().begin_building()
results.fill(0, stream=builder)
launch(builder, config, draw, x)
left, right = builder.split(2)
launch(left, config, largest, x, results)
launch(right, config, count_odd, x, results.handle + 4)
builder = GraphBuilder.join(left, right)
graph = builder.end_building().complete()

graph.upload(stream)
for _ in range(LAUNCHES):
    graph.launch(stream)
found = results.copy_to(np.empty(2, np.uint32), stream=stream)

for _ in range(LAUNCHES):
    samples = samples * np.uint32(1664525) + np.uint32(1013904223)
assert found.tolist() == [samples.max(), (samples >> 16 & 1).sum()]
print(f"after {LAUNCHES} launches: largest {found[0]}, {found[1]} odd")
print(builder.graph_definition)
