# SPDX-License-Identifier: Apache-2.0
"""Graphs keep the memory that their nodes use, also when its Buffer is closed."""

import gc

import holdfast
import numpy as np
import pytest
from holdfast.core import (
    Buffer,
    LaunchConfig,
    MemoryResource,
    PinnedMemoryResource,
    Program,
    ProgramOptions,
    launch,
)
from holdfast.core.graph import GraphDefinition

ONE = LaunchConfig(grid=1, block=1)
SOURCE = """
extern "C" __global__ void add(int* x, const int* y, int n) { *x += *y + n; }
extern "C" __global__ void wait(volatile int* gate) { while (*gate == 0) {} }
"""


@pytest.fixture
def module(device):
    return Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{device.arch}")).compile("cubin")


@pytest.fixture
def add(module):
    return module.get_kernel("add")


@pytest.fixture
def out(device, stream):
    made = device.allocate(4, stream=stream)
    made.fill(0, stream=stream)
    return made


def number(buffer, stream):
    return int(buffer.copy_to(np.empty(1, np.int32), stream=stream)[0])


def filled(device, stream, value):
    buffer = device.allocate(4, stream=stream)
    buffer.fill(np.int32(value).tobytes(), stream=stream)
    stream.sync()
    return buffer


def reuse(device, stream):
    """What was freed is taken and overwritten."""
    for _ in range(8):
        device.allocate(4, stream=stream).fill(b"\xff", stream=stream)
    stream.sync()


def check_uses(device, stream, definition, out, expected):
    """The graph runs with what its definition had, though the Buffers are closed."""
    gc.collect()
    reuse(device, stream)
    graph = definition.instantiate()
    del definition
    gc.collect()
    reuse(device, stream)
    graph.launch(stream)
    assert number(out, stream) == expected


def test_kernels_use_what_was_closed(device, stream, add, out):
    one, two = filled(device, stream, 30), filled(device, stream, 5)
    definition = GraphDefinition()
    definition.launch(ONE, add, out, one, 2).launch(ONE, add, out.handle, two.handle, 3)
    for buffer in one, two:
        buffer.close()
        assert buffer.handle == 0 and buffer.memory_resource is None
    check_uses(device, stream, definition, out, 40)


def test_copies_and_fills_use_what_was_closed(device, stream, out):
    source, middle = filled(device, stream, 7), filled(device, stream, 0)
    definition = GraphDefinition()
    node = definition.memcpy(middle, source, 4).memcpy(out, middle, 4)
    fill = node.memset(middle, 9, 4)
    definition_of_number = GraphDefinition()
    address = int(source.handle)
    definition_of_number.memcpy(out, address, 4, src_owner=source)
    middle.close()
    source.close()
    assert fill.value == 9 and "size=4" in repr(node)
    check_uses(device, stream, definition, out, 7)
    check_uses(device, stream, definition_of_number, out, 7)


def test_pinned_memory_stays_too(session, device, stream, add, out):
    resource = PinnedMemoryResource()
    pinned = resource.allocate(4, stream=stream)
    if not pinned.is_device_accessible:
        pytest.skip("the daemon is reached as on another machine")
    np.frombuffer(pinned.memory, np.int32)[0] = 6
    definition = GraphDefinition()
    definition.launch(ONE, add, out, pinned, 1)
    pinned.close()
    for _ in range(8):
        np.frombuffer(resource.allocate(4, stream=stream).memory, np.int32)[0] = 99
    check_uses(device, stream, definition, out, 7)


def test_a_closed_buffer_stays_what_it_is_in_its_node(device, stream, add, out):
    source = filled(device, stream, 4)
    definition = GraphDefinition()
    copy = definition.memcpy(out, source, 2)
    kernel = copy.launch(ONE, add, out, source, 1)
    source.close()
    copy.update(size=4)
    kernel.update(config=LaunchConfig(grid=2, block=1))
    kernel.update(config=ONE)
    graph = definition.instantiate()
    graph.launch(stream)
    assert number(out, stream) == 4 + 4 + 1
    graph[copy].update(size=4)
    graph.launch(stream)
    assert number(out, stream) == 9
    with pytest.raises(ValueError, match="no active allocation"):
        kernel.update(args=(out, source, 1))
    for add_node in (
        lambda: definition.memset(source, 0, 4),
        lambda: definition.launch(ONE, add, out, source, 1),
    ):
        with pytest.raises((ValueError, holdfast.core.CUDAError), match="closed|has no active"):
            add_node()


def test_what_no_graph_uses_any_more_is_freed(device, stream, add, out):
    class Counted(MemoryResource):
        freed = 0
        is_device_accessible = True
        is_host_accessible = False
        device_id = 0

        def allocate(self, size, *, stream=None):
            self.memory = filled(device, stream, 3)
            return Buffer.from_handle(self.memory.handle, size, mr=self)

        def deallocate(self, ptr, size, *, stream=None):
            self.freed += 1

    resource = Counted()
    buffer = resource.allocate(4, stream=stream)
    definition = GraphDefinition()
    node = definition.launch(ONE, add, out, buffer, 0)
    graph = definition.instantiate()
    graph.launch(stream)
    buffer.close()
    buffer.close()
    gc.collect()
    assert resource.freed == 0
    definition.launch(ONE, add, out, out, 0)
    node.destroy()
    del node
    gc.collect()
    assert resource.freed == 0
    graph.launch(stream)
    assert number(out, stream) == 6
    graph.close()
    gc.collect()
    device.sync()
    assert resource.freed == 1


def test_memory_is_freed_behind_the_launch_that_uses_it(device, stream, module, add, out):
    gate = PinnedMemoryResource().allocate(4, stream=stream)
    if not gate.is_device_accessible:
        pytest.skip("the daemon is reached as on another machine")
    opened = np.frombuffer(gate.memory, np.int32)
    opened[0] = 0
    own = device.create_stream()
    source = filled(device, own, 20)
    definition = GraphDefinition()
    waiting = definition.launch(ONE, module.get_kernel("wait"), gate)
    waiting.launch(ONE, add, out, source, 1)
    graph = definition.instantiate()
    graph.launch(stream)
    source.close()
    graph.close()
    del definition, waiting, graph
    gc.collect()
    for _ in range(4):  # none of these gets the memory
        device.allocate(4, stream=own).fill(b"\xff", stream=own)
    own.record()
    opened[0] = 1
    assert number(out, stream) == 21


def test_an_updated_graph_keeps_what_it_uses_now(device, stream, add, out):
    def of(value):
        buffer = filled(device, stream, value)
        definition = GraphDefinition()
        definition.launch(ONE, add, out, buffer, 0)
        buffer.close()
        return definition

    graph = of(1).instantiate()
    for value in 2, 3:
        graph.update(of(value))
        gc.collect()
        reuse(device, stream)
        graph.launch(stream)
    assert number(out, stream) == 5


def test_a_recorded_graph_keeps_what_it_was_given(device, stream, add, out):
    source = filled(device, stream, 8)
    builder = device.create_graph_builder().begin_building()
    launch(builder, ONE, add, out, source, 1)
    builder.end_building()
    source.close()
    reuse(device, stream)
    graph = builder.complete()
    builder.close()
    reuse(device, stream)
    graph.launch(stream)
    assert number(out, stream) == 9


def test_a_part_of_a_closed_buffer_stays(device, stream, add, out):
    whole = device.allocate(8, stream=stream)
    whole.fill(np.int32(2).tobytes(), stream=stream)
    part = whole.sub(4, 4)
    definition = GraphDefinition()
    definition.launch(ONE, add, out, part, 0)
    whole.close()
    part.close()
    check_uses(device, stream, definition, out, 2)
