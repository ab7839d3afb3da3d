# SPDX-License-Identifier: Apache-2.0
"""A graph that changes between launches without being made again: other arguments for one node, a
node that is left out for a while, and everything at once from a second definition."""

import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch
from holdfast.core.graph import GraphDefinition

SOURCE = """
extern "C" __global__ void scale(float* x, float factor) { x[threadIdx.x] *= factor; }
extern "C" __global__ void shift(float* x, float by) { x[threadIdx.x] += by; }
"""
COUNT = 256
CONFIG = LaunchConfig(grid=1, block=COUNT)

device = Device()
device.set_current()
stream = device.create_stream()
module = Program(SOURCE, "c++").compile("cubin")
scale, shift = module.get_kernel("scale"), module.get_kernel("shift")
x = device.allocate(4 * COUNT, stream=stream)


def expect(what, value):
    graph.launch(stream)
    found = x.copy_to(np.empty(COUNT, np.float32), stream=stream)
    assert (found == value).all(), found
    print(f"{what:30} {found[0]:g}")


# x = 1, then x *= 3, then x += 4.
definition = GraphDefinition()
start = definition.memset(x, np.float32(1), COUNT)
scaled = start.launch(CONFIG, scale, x, np.float32(3))
shifted = scaled.launch(CONFIG, shift, x, np.float32(4))
graph = definition.instantiate()
expect("as it was made:", 7)

graph[scaled].update(CONFIG, scale, x, np.float32(10))
expect("another factor:", 14)
graph[shifted].disable()
expect("without the shift:", 10)
graph[shifted].enable()
expect("with it again:", 14)

# The same topology, recorded: everything changes at once.
builder = device.create_graph_builder().begin_building()
x.fill(np.float32(2), stream=builder)
launch(builder, CONFIG, scale, x, np.float32(-1))
launch(builder, CONFIG, shift, x, np.float32(0.5))
graph.update(builder.end_building())
expect("from a recording:", -1.5)
