# SPDX-License-Identifier: Apache-2.0
"""Functions of this process in graphs: when they are called, and what they keep."""

import ctypes
import gc
import threading
import time
import weakref

import holdfast
import pytest
from holdfast.core import CUDAError, LaunchConfig, PinnedMemoryResource, Program
from holdfast.core.graph import GraphDefinition, GraphNodeType, HostCallbackNode

FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@pytest.fixture
def pinned(stream, address):
    if address.startswith("tcp:"):
        pytest.skip("a graph has no memory of a process on another machine")
    return PinnedMemoryResource().allocate(4, stream=stream)


@pytest.fixture
def seen(pinned):
    """Looks into the memory when it is called."""

    class Seen(list):
        def __call__(self):
            self.append(pinned.memory[0])

    return Seen()


class Told(list):
    """What threading.excepthook is told from now on; pytest has its own, in each test."""

    def __init__(self, monkeypatch):
        super().__init__()
        monkeypatch.setattr(threading, "excepthook", self._hook)

    def _hook(self, args):
        self.append(args.exc_value)


def run(graph, stream, times=1):
    for _ in range(times):
        graph.launch(stream)
    stream.sync()


def test_a_function_is_called_between_the_nodes_before_and_after_it(stream, pinned, seen):
    definition = GraphDefinition()
    first = definition.memset(pinned, 1, 4).callback(seen)
    last = first.memset(pinned, 2, 4).callback(seen)
    assert isinstance(first, HostCallbackNode) and first.callback is seen
    assert first.type is GraphNodeType.CU_GRAPH_NODE_TYPE_HOST
    assert repr(last) == f"<HostCallbackNode handle={last.handle:#x} callback=Seen>"
    graph = definition.instantiate()
    assert seen == []
    graph.upload(stream)
    run(graph, stream, times=3)
    assert seen == [1, 2] * 3


def test_the_stream_waits_for_a_function(stream):
    started, go, order = threading.Event(), threading.Event(), []

    def function():
        started.set()
        go.wait(30)
        order.append("function")

    definition = GraphDefinition()
    definition.callback(function)
    definition.instantiate().launch(stream)
    event = stream.record()
    assert started.wait(30) and not event.is_done
    go.set()
    event.sync()
    assert order == ["function"]


def test_a_builder_records_functions(stream, pinned, seen):
    builder = stream.create_graph_builder().begin_building()
    pinned.fill(5, stream=builder)
    builder.callback(seen)
    pinned.fill(6, stream=builder)
    run(builder.end_building().complete(), stream)
    assert seen == [5] and pinned.memory[0] == 6


def test_functions_of_child_graphs_are_called(stream, pinned, seen):
    child = GraphDefinition()
    child.memset(pinned, 1, 4).callback(seen)
    definition = GraphDefinition()
    embedded = definition.memset(pinned, 9, 4).callback(seen).embed(child)
    last = embedded.memset(pinned, 3, 4).callback(seen)
    within = GraphDefinition()
    within.embed(GraphDefinition()).embed(child)
    last.embed(within).embed(GraphDefinition()).callback(seen)
    run(definition.instantiate(), stream)
    assert seen == [9, 1, 3, 1, 1]


def test_branches_meet_at_a_function(stream, pinned, seen):
    definition = GraphDefinition()
    left, right = definition.memset(pinned, 1, 1), definition.memset(pinned, 1, 1)
    left.join(right).callback(seen).join(right.callback(seen)).memset(pinned, 4, 1).callback(seen)
    run(definition.instantiate(), stream)
    assert seen == [1, 1, 4]


@pytest.mark.parametrize("data, expected", [(b"\x2a\0", 42), (None, None)])
def test_functions_of_ctypes_get_their_data(stream, data, expected):
    got = []

    @FUNCTION
    def function(pointer):
        got.append(pointer and ctypes.cast(pointer, ctypes.POINTER(ctypes.c_uint8))[0])

    definition = GraphDefinition()
    assert definition.callback(function, user_data=data).callback is None
    graph = definition.instantiate()
    del function, data
    run(graph, stream)
    assert got == [expected]


def test_wrong_functions_are_refused():
    definition = GraphDefinition()
    with pytest.raises(TypeError, match="a callable expected, got int"):
        definition.callback(1)
    with pytest.raises(TypeError, match="user_data is bytes, an int or None, got list"):
        definition.callback(FUNCTION(print), user_data=[])
    with pytest.raises(ValueError, match="user_data is only supported with functions of ctypes"):
        definition.callback(print, user_data=b"1")


def test_functions_beside_conditions_are_refused():
    definition = GraphDefinition()
    node = definition.if_then(definition.create_condition())
    inner = node.then.callback(print)
    with pytest.raises(NotImplementedError, match="beside a condition"):
        definition.instantiate()
    node.destroy()
    assert node.then.handle == 0 and not node.then.is_valid and not inner.is_valid


def test_a_launch_cannot_be_recorded(stream):
    definition = GraphDefinition()
    definition.callback(print)
    graph = definition.instantiate()
    builder = stream.create_graph_builder().begin_building()
    with pytest.raises(RuntimeError, match="a graph with functions of this process"):
        graph.launch(builder)
    builder.close()


def test_what_a_function_raises_is_told_and_the_graph_goes_on(stream, pinned, seen, monkeypatch):
    told = Told(monkeypatch)
    definition = GraphDefinition()
    definition.callback(lambda: 1 / 0).memset(pinned, 8, 4).callback(seen)
    run(definition.instantiate(), stream, times=2)
    assert seen == [8, 8] and [type(error) for error in told] == [ZeroDivisionError] * 2


def test_behind_a_fault_no_function_is_called(stream, pinned, seen):
    source = 'extern "C" __global__ void stray(int* x) { x[1ull << 40] = 1; }'
    stray = Program(source, "c++").compile("cubin").get_kernel("stray")
    definition = GraphDefinition()
    definition.launch(LaunchConfig(grid=1, block=1), stray, pinned).callback(seen)
    graph = definition.instantiate()
    for _ in range(5):
        graph.launch(stream)
        # The thread that waits for the kernel meets the fault first, and leaves it to this one.
        while any(thread.name == "holdfast-callbacks" for thread in threading.enumerate()):
            time.sleep(0.001)
        with pytest.raises(holdfast.Fault):
            stream.sync()
        stream.sync()
    assert seen == []


def test_a_graph_is_updated_with_its_functions(stream, pinned, seen):
    def of(value, function):
        definition = GraphDefinition()
        definition.memset(pinned, value, 4).callback(function)
        return definition

    graph = of(1, lambda: None).instantiate()
    graph.update(of(2, seen))
    run(graph, stream)
    assert seen == [2]
    longer = of(3, seen)
    longer.empty()
    plain = GraphDefinition()
    plain.memset(pinned, 4, 4)
    for source, target in ((longer, graph), (plain, graph), (longer, plain.instantiate())):
        with pytest.raises(CUDAError, match="CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE.*topology"):
            target.update(source)
    run(graph, stream)
    assert seen == [2, 2]


def test_nodes_of_all_steps_can_be_changed(stream, pinned, seen):
    definition = GraphDefinition()
    first = definition.memset(pinned, 1, 4)
    called = first.callback(seen)
    last = called.memset(pinned, 2, 4)
    last.callback(seen)
    graph = definition.instantiate()
    graph[first].update(value=5)
    graph[last].disable()
    run(graph, stream)
    assert seen == [5, 5]
    with pytest.raises(KeyError):
        graph[called]


def test_a_graph_keeps_its_functions_and_no_longer(stream):
    calls = []

    class Function:
        def __call__(self):
            calls.append(1)

    function = Function()
    known = weakref.ref(function)
    definition = GraphDefinition()
    node = definition.callback(function)
    graph = definition.instantiate()
    node.destroy()
    del function, node, definition
    gc.collect()
    run(graph, stream)
    assert calls == [1]
    graph.close()
    del graph
    gc.collect()
    assert known() is None


def test_a_function_of_another_prototype_is_refused():
    for prototype in (
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p),
        ctypes.CFUNCTYPE(None),
        ctypes.CFUNCTYPE(None, ctypes.c_int),
    ):
        with pytest.raises(TypeError, match="CFUNCTYPE"):
            GraphDefinition().callback(prototype(lambda *args: 0))
