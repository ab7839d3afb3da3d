# SPDX-License-Identifier: Apache-2.0
"""Graphs: recorded, written node by node, changed by keyword."""

import numpy as np

from checks import build, core, device, down, equal, finish, refused, run, stream, works, zeros

SOURCE = r"""
extern "C" __global__ void add(int* x, int v) { atomicAdd(x, v); }
extern "C" __global__ void mul(int* x, int v) { *x *= v; }
"""
module = build(SOURCE)
add, mul = module.get_kernel("add"), module.get_kernel("mul")
one = core.LaunchConfig(grid=1, block=1)


def recorded():
    x = zeros(1)
    stream.sync()
    builder = device.create_graph_builder().begin_building()
    for step in range(5):
        core.launch(builder, one, add, x, np.int32(step))
        core.launch(builder, one, mul, x, np.int32(2))
    graph = builder.end_building().complete()
    for _ in range(3):
        graph.launch(stream)
    return down(x)


wanted = 0
for _ in range(3):
    for step in range(5):
        wanted = (wanted + step) * 2
equal("a recorded graph, launched three times", works("recorded", recorded), [wanted])


def forked():
    x, y = zeros(1), zeros(1)
    stream.sync()
    builder = device.create_graph_builder().begin_building()
    core.launch(builder, one, add, x, np.int32(1))
    left, right = builder.split(2)
    core.launch(left, one, add, x, np.int32(10))
    core.launch(right, one, add, y, np.int32(20))
    joined = type(builder).join(left, right)
    core.launch(joined, one, add, x, np.int32(100))
    graph = joined.end_building().complete()
    graph.launch(stream)
    return int(down(x)[0]), int(down(y)[0])


equal("branches that join", works("forked", forked), (111, 20))

import importlib  # noqa: E402

graphs = importlib.import_module(core.__name__ + ".graph")


def written():
    x = zeros(1)
    definition = graphs.GraphDefinition()
    node = definition.launch(one, add, x, np.int32(5))
    node.launch(one, mul, x, np.int32(3))
    return x, node, definition.instantiate()


made = works("written node by node", written)
if made:
    x, node, graph = made
    graph.launch(stream)
    equal("its result", down(x), [15])
    works("another argument", lambda: graph[node].update(args=(x, np.int32(50))))
    graph.launch(stream)
    equal("with another argument", down(x), [195])
    works("another block", lambda: graph[node].update(config=core.LaunchConfig(grid=1, block=2)))
    graph.launch(stream)
    equal("with another block", down(x), [885])
    refused("a keyword that is none", "nonsense", lambda: graph[node].update(nonsense=1))
finish()
