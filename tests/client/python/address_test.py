# SPDX-License-Identifier: Apache-2.0
"""Addresses are numbers: of Buffers, of their parts, of variables, of pinned memory."""

import ctypes
import struct

import holdfast
import numpy as np
import pytest
from holdfast.core import (
    LaunchConfig,
    LegacyPinnedMemoryResource,
    PinnedMemoryResource,
    Program,
    launch,
)
from holdfast.core.graph import GraphDefinition

SOURCE = r"""
__device__ int variable[4] = {30, 31, 32, 33};
extern "C" __global__ void sum(const int* const* table, int count, int* out) {
  int total = 0;
  for (int i = 0; i < count; ++i) total += *table[i];
  *out = total;
}
struct Task { const int* in; int factor; int* out; };
extern "C" __global__ void run(Task task) { *task.out = *task.in * task.factor; }
extern "C" __global__ void put(int* out, int value) { *out = value; }
extern "C" __global__ void stray(int* x) { x[1ll << 40] = 1; }
"""
TASK = np.dtype([("in", np.uint64), ("factor", np.int32), ("out", np.uint64)], align=True)
ONE = LaunchConfig(grid=1, block=1)


@pytest.fixture
def module(device):
    return Program(SOURCE, "c++").compile("cubin")


def buffer_of(device, stream, *values):
    array = np.array(values, np.int32)
    buffer = device.allocate(array.nbytes, stream=stream)
    buffer.copy_from(array, stream=stream)
    return buffer


def values_of(buffer, stream):
    return buffer.copy_to(np.empty(buffer.size // 4, np.int32), stream=stream).tolist()


def test_a_handle_is_a_number_wherever_python_takes_one(device, stream):
    buffer = device.allocate(4096, stream=stream)
    handle, number = buffer.handle, int(buffer.handle)
    assert number > 0 and number % 256 == 0 and handle % 256 == 0
    assert handle == number and number == handle and handle != number + 1
    assert handle == buffer.handle and hash(handle) == hash(number) == hash(buffer.handle)
    assert {handle: 1}[number] == 1
    assert bool(handle) and f"{handle:#x}" == hex(number) and hex(handle) == hex(number)
    assert int(handle + 64) == number + 64 and (handle + 64) - handle == 64
    assert int(np.int64(8) + handle) == number + 8 and int(handle + np.uint32(8)) == number + 8
    assert handle < handle + 1 <= number + 1 and handle & 255 == 0
    assert np.uint64(handle) == number and np.array([handle], np.uint64)[0] == number
    assert struct.pack("Q", handle) == struct.pack("Q", number)
    assert int(buffer.sub(1024, 16).handle) == number + 1024
    assert handle != None and handle != "x"  # noqa: E711
    with pytest.raises(IndexError, match="of a Buffer of 4096 bytes"):
        handle + 4097
    with pytest.raises(TypeError):
        handle + 0.5


def test_a_closed_buffer_has_neither_address_nor_resource(device, stream):
    for resource in (device.memory_resource, PinnedMemoryResource()):
        buffer = resource.allocate(64, stream=stream)
        handle = buffer.handle
        assert handle != 0 and buffer.memory_resource is resource
        buffer.close()
        assert buffer.handle == 0 and not buffer.handle
        assert buffer.memory_resource is None
        with pytest.raises(RuntimeError, match="closed"):
            int(handle)


def test_kernels_follow_tables_of_pointers(device, stream, module):
    first, second = buffer_of(device, stream, 1, 2), buffer_of(device, stream, 30)
    variable = module.get_global("variable")
    places = [first.handle, first.handle + 4, second.handle, int(variable.handle) + 8]
    table = device.allocate(32, stream=stream)
    table.copy_from(np.array([int(place) for place in places], np.uint64), stream=stream)
    out = device.allocate(4, stream=stream)
    launch(stream, ONE, module.get_kernel("sum"), table, 4, out)
    assert values_of(out, stream) == [1 + 2 + 30 + 32]


def test_structs_and_integers_carry_pointers(device, stream, module):
    source, out = buffer_of(device, stream, 6), buffer_of(device, stream, 0)
    task = np.array((int(source.handle), 7, int(out.handle)), TASK)
    launch(stream, ONE, module.get_kernel("run"), task[()])
    assert values_of(out, stream) == [42]
    put = module.get_kernel("put")
    number = int(out.handle)
    for value, pointer in enumerate(
        (number, np.uint64(number), np.int64(number), np.intp(number), ctypes.c_void_p(number))
    ):
        launch(stream, ONE, put, pointer, value)
        assert values_of(out, stream) == [value]


def test_addresses_stay_over_faults(device, stream, session, module):
    first, second = buffer_of(device, stream, 5), buffer_of(device, stream, 6)
    numbers = [int(first.handle), int(second.handle)]
    table = device.allocate(16, stream=stream)
    table.copy_from(np.array(numbers, np.uint64), stream=stream)
    out = device.allocate(4, stream=stream)
    stream.sync()
    for _ in range(2):
        launch(stream, ONE, module.get_kernel("stray"), out)
        with pytest.raises(holdfast.Fault):
            stream.sync()
        assert numbers == [first.handle, second.handle]
        launch(stream, ONE, module.get_kernel("sum"), table, 2, int(out.handle))
        assert values_of(out, stream) == [11]


@pytest.mark.parametrize("kind", [PinnedMemoryResource, LegacyPinnedMemoryResource])
def test_the_address_of_pinned_memory_is_an_argument(embedded, kind):
    with holdfast.connect(embedded) as session:
        device = session.device(0)
        device.set_current()
        stream = device.create_stream()
        module = Program(SOURCE, "c++").compile("cubin")
        put, run = module.get_kernel("put"), module.get_kernel("run")
        buffer = kind().allocate(64, stream=stream)
        array = np.frombuffer(buffer.memory, np.int32)
        array[:] = 0
        assert buffer.handle == array.ctypes.data and int(buffer.handle + 4) == array[1:].ctypes.data
        other = holdfast.empty_pinned(4, np.int32)
        for values in (array, other):
            for index, pointer in enumerate(
                (
                    values.ctypes.data,
                    np.uint64(values.ctypes.data + 4),
                    ctypes.c_void_p(values.ctypes.data + 8),
                )
            ):
                launch(stream, ONE, put, pointer, 100 + index)
            stream.sync()
            assert values[:3].tolist() == [100, 101, 102]
        definition = GraphDefinition()
        definition.launch(ONE, put, array.ctypes.data + 12, 55)
        graph = definition.instantiate()
        graph.launch(stream)
        task = np.array((other.ctypes.data, 3, array[4:].ctypes.data), TASK)
        launch(stream, ONE, run, task[()])
        stream.sync()
        assert array[3] == 55 and array[4] == 300
        launch(stream, ONE, module.get_kernel("stray"), device.allocate(4, stream=stream))
        with pytest.raises(holdfast.Fault):
            stream.sync()
        launch(stream, ONE, run, task[()])
        launch(stream, ONE, put, array.ctypes.data, 7)
        stream.sync()
        assert array[4] == 300 and array[0] == 7


def test_the_address_of_memory_of_a_remote_client_is_refused(tcp_address):
    with holdfast.connect(tcp_address) as session:
        device = session.device(0)
        device.set_current()
        stream = device.create_stream()
        put = Program(SOURCE, "c++").compile("cubin").get_kernel("put")
        buffer = PinnedMemoryResource().allocate(64, stream=stream)
        array = np.frombuffer(buffer.memory, np.int32)
        assert buffer.handle == array.ctypes.data
        empty = holdfast.empty_pinned(16, np.int32)
        for number in (array.ctypes.data, array[15:].ctypes.data, empty.ctypes.data):
            for pointer in (number, np.uint64(number), ctypes.c_void_p(number), buffer.handle):
                with pytest.raises(ValueError, match="argument 0 .* on another machine"):
                    launch(stream, ONE, put, pointer, 1)
        stream.sync()


def test_the_address_of_pinned_memory_of_another_session_is_refused(embedded):
    with holdfast.connect(embedded) as one, holdfast.connect(embedded) as two:
        foreign = holdfast.empty_pinned(4, np.int32, session=two)
        device = one.device(0)
        device.set_current()
        stream = device.create_stream()
        put = Program(SOURCE, "c++").compile("cubin").get_kernel("put")
        with pytest.raises(ValueError, match="argument 0, .* of another session"):
            launch(stream, ONE, put, foreign.ctypes.data, 1)
        definition = GraphDefinition()
        with pytest.raises(ValueError, match="argument 0, .* of another session"):
            definition.launch(ONE, put, foreign.ctypes.data, 1)
        stream.sync()
