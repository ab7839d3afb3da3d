# SPDX-License-Identifier: Apache-2.0
"""Graphs: recorded by GraphBuilders, written as GraphDefinitions, changed, drawn."""

import gc

import holdfast
import numpy as np
import pytest
from holdfast.core import (
    CUDAError,
    Device,
    GraphMemoryResource,
    LaunchConfig,
    PinnedMemoryResource,
    Program,
    ProgramOptions,
    launch,
)
from holdfast.core.graph import (
    AllocNode,
    ConditionalNode,
    EmptyNode,
    FreeNode,
    GraphBuilder,
    GraphCompleteOptions,
    GraphDebugPrintOptions,
    GraphDefinition,
    GraphNodeType,
    KernelNode,
    MemcpyNode,
    MemsetNode,
)

ONE = LaunchConfig(grid=1, block=1)
SOURCE = """
extern "C" __device__ __cudart_builtin__ void CUDARTAPI
cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value);

extern "C" __global__ void add(int* x, int n) { *x += n; }
extern "C" __global__ void set(cudaGraphConditionalHandle c, int value) {
  cudaGraphSetConditional(c, value);
}
extern "C" __global__ void countdown(cudaGraphConditionalHandle c, int* left) {
  *left -= 1;
  cudaGraphSetConditional(c, *left > 0 ? 1 : 0);
}
"""


@pytest.fixture
def module(device):
    return Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{device.arch}")).compile("cubin")


@pytest.fixture
def add(module):
    return module.get_kernel("add")


class Numbers:
    """Some ints of the device."""

    def __init__(self, device, stream, count):
        self.stream = stream
        self.buffer = device.allocate(4 * count, stream=stream)
        self.buffer.fill(0, stream=stream)
        stream.sync()

    def __getitem__(self, index):
        return self.buffer.handle + 4 * index

    def now(self):
        return self.buffer.copy_to(
            np.empty(self.buffer.size // 4, np.int32), stream=self.stream
        ).tolist()


@pytest.fixture
def x(device, stream):
    return Numbers(device, stream, 3)


def run(graph, x):
    graph.launch(x.stream)
    return x.now()


def test_a_builder_records_what_it_is_given_and_runs_nothing(device, stream, add, x):
    builder = device.create_graph_builder()
    assert not builder.is_building and not builder.is_join_required
    assert builder.begin_building() is builder and builder.is_building
    for _ in range(3):
        launch(builder, ONE, add, x.buffer, 1)
    graph = builder.end_building().complete()
    assert x.now()[0] == 0
    graph.upload(stream)
    assert run(graph, x)[0] == 3
    assert run(graph, x)[0] == 6


def test_a_stream_can_be_recorded_and_used_again(device, stream, add, x):
    builder = stream.create_graph_builder().begin_building()
    launch(stream, ONE, add, x.buffer, 1)
    x.buffer.fill(b"\x07\0\0\0", stream=builder)
    launch(builder, {"grid": 1, "block": 1}, add, x.buffer, 1)
    graph = builder.end_building().complete()
    builder.close()
    launch(stream, ONE, add, x.buffer, 1)
    assert x.now() == [1, 0, 0]
    assert run(graph, x) == [8, 7, 7]


def test_forks_run_beside_each_other_and_are_joined(device, add, x):
    builder = device.create_graph_builder().begin_building()
    launch(builder, ONE, add, x[0], 1)
    first, second, third = builder.split(3)
    assert first is builder and second.is_join_required
    launch(first, ONE, add, x[0], 1)
    launch(second, ONE, add, x[1], 1)
    launch(third, ONE, add, x[2], 1)
    joined = GraphBuilder.join(second, third)
    assert joined.is_join_required
    joined = GraphBuilder.join(joined, first)
    assert joined is builder
    launch(joined, ONE, add, x[1], 5)
    definition = joined.end_building().graph_definition
    assert len(definition.nodes()) == 5 and len(definition.edges()) == 6
    assert run(builder.complete(), x) == [2, 6, 1]
    with pytest.raises(RuntimeError, match="^Graph builder has been closed."):
        third.complete()


def test_a_fork_that_is_not_joined_is_named(device, add, x):
    builder = device.create_graph_builder().begin_building()
    launch(builder, ONE, add, x[0], 1)
    _, other = builder.split(2)
    launch(other, ONE, add, x[1], 1)
    with pytest.raises(CUDAError, match="node 2 .launch. was captured on another stream"):
        builder.end_building()


def test_builders_refuse_calls_in_the_wrong_order(device, stream, add, x):
    builder = device.create_graph_builder()
    with pytest.raises(RuntimeError, match="^Graph has not finished building."):
        builder.complete()
    with pytest.raises(RuntimeError, match="must be building before it can be split"):
        builder.split(2)
    builder.begin_building()
    with pytest.raises(RuntimeError, match="^Graph builder is already building."):
        builder.begin_building()
    with pytest.raises(RuntimeError, match="^Graph has not finished building."):
        builder.complete()
    with pytest.raises(ValueError, match="^Invalid split count: expecting >= 2, got 1"):
        builder.split(1)
    with pytest.raises(ValueError, match="^Must join with at least two graph builders"):
        GraphBuilder.join(builder)
    with pytest.raises(TypeError):
        builder.embed(object())
    with pytest.raises(ValueError, match="^user_data is only supported with functions of ctypes"):
        builder.callback(print, user_data=b"x")
    builder.end_building()
    with pytest.raises(RuntimeError, match="^Cannot resume building after building has ended."):
        builder.begin_building()
    with pytest.raises(RuntimeError, match="not building"):
        builder.end_building()
    with pytest.raises(ValueError, match="Unsupported build mode: odd"):
        device.create_graph_builder().begin_building("odd")
    with pytest.raises(NotImplementedError):
        GraphBuilder()


def test_what_cannot_be_recorded_breaks_the_recording(device, stream, add, x):
    builder = stream.create_graph_builder().begin_building()
    launch(builder, ONE, add, x.buffer, 1)
    with pytest.raises(CUDAError, match="cannot be captured"):
        stream.sync()
    with pytest.raises(CUDAError, match=r"end_building\(\) or close.* failed with: .* cannot be captured"):
        launch(stream, ONE, add, x.buffer, 1)
    with pytest.raises(CUDAError, match="cannot be captured"):
        builder.end_building()
    builder.close()
    launch(stream, ONE, add, x.buffer, 0)
    assert x.now() == [0, 0, 0]


def test_a_builder_that_is_dropped_frees_its_stream(device, stream, add, x):
    builder = stream.create_graph_builder().begin_building()
    launch(builder, ONE, add, x.buffer, 1)
    del builder
    gc.collect()
    launch(stream, ONE, add, x.buffer, 1)
    assert x.now()[0] == 1


def test_recorded_buffers_live_as_long_as_the_builder(device, stream, add, x):
    builder = device.create_graph_builder().begin_building()
    buffer = device.allocate(4, stream=stream)
    launch(builder, ONE, add, buffer, 1)
    x.buffer.sub(0, 4).copy_from(buffer, stream=builder)
    del buffer
    gc.collect()
    graph = builder.end_building().complete()
    graph.launch(stream)
    stream.sync()


def test_a_recording_becomes_a_node_of_another(device, add, x):
    child = device.create_graph_builder().begin_building()
    launch(child, ONE, add, x[1], 1)
    launch(child, ONE, add, x[1], 1)
    child.end_building()
    parent = device.create_graph_builder().begin_building()
    launch(parent, ONE, add, x[0], 1)
    parent.embed(child)
    launch(parent, ONE, add, x[0], 1)
    assert run(parent.end_building().complete(), x) == [2, 2, 0]


@pytest.mark.parametrize("value", [0, 1])
def test_a_recorded_if(device, module, add, x, value):
    builder = device.create_graph_builder().begin_building()
    condition = builder.create_condition()
    launch(builder, ONE, module.get_kernel("set"), condition, value)
    then = builder.if_then(condition).begin_building()
    launch(then, ONE, add, x[0], 1)
    left, right = then.split(2)
    launch(left, ONE, add, x[0], 1)
    launch(right, ONE, add, x[1], 1)
    then = GraphBuilder.join(left, right)
    then.end_building()
    launch(builder, ONE, add, x[2], 1)
    graph = builder.end_building().complete()
    assert run(graph, x) == ([2, 1, 1] if value else [0, 0, 1])


@pytest.mark.parametrize("value", [0, 1])
def test_a_recorded_if_else(device, module, add, x, value):
    builder = device.create_graph_builder().begin_building()
    condition = builder.create_condition(default_value=value)
    then, otherwise = builder.if_else(condition)
    then.begin_building()
    launch(then, ONE, add, x[0], 1)
    then.end_building()
    otherwise.begin_building()
    launch(otherwise, ONE, add, x[1], 1)
    otherwise.end_building()
    assert run(builder.end_building().complete(), x) == ([1, 0, 0] if value else [0, 1, 0])


@pytest.mark.parametrize("value", [0, 1, 2, 3])
def test_a_recorded_switch(device, module, add, x, value):
    builder = device.create_graph_builder().begin_building()
    condition = builder.create_condition(default_value=value)
    for number, case in enumerate(builder.switch(condition, 3)):
        case.begin_building()
        launch(case, ONE, add, x[number], 1)
        case.end_building()
    assert run(builder.end_building().complete(), x) == [int(value == i) for i in range(3)]


def test_a_recorded_while_runs_until_a_kernel_says_so(device, module, add, x):
    builder = device.create_graph_builder().begin_building()
    launch(builder, ONE, add, x[1], 10)
    condition = builder.create_condition(default_value=1)
    body = builder.while_loop(condition).begin_building()
    launch(body, ONE, add, x[0], 2)
    launch(body, ONE, module.get_kernel("countdown"), condition, x[1])
    body.end_building()
    graph = builder.end_building().complete()
    assert run(graph, x) == [20, 0, 0]
    assert run(graph, x) == [40, 0, 0]


def test_a_branch_may_be_written_as_a_definition(device, add, x):
    builder = device.create_graph_builder().begin_building()
    then = builder.if_then(builder.create_condition(default_value=1))
    then.graph_definition.launch(ONE, add, x[0], 4)
    builder.end_building()
    assert run(builder.complete(), x) == [4, 0, 0]


def test_a_recorded_graph_may_be_extended_as_a_definition(device, add, x):
    builder = device.create_graph_builder().begin_building()
    launch(builder, ONE, add, x[0], 1)
    with pytest.raises(RuntimeError):
        builder.graph_definition
    builder.end_building()
    definition = builder.graph_definition
    (node,) = definition.nodes()
    assert isinstance(node, KernelNode) and node.grid == (1, 1, 1)
    assert node.type is GraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL
    node.launch(ONE, add, x[1], 1)
    assert run(builder.complete(), x) == [1, 1, 0]
    assert run(definition.instantiate(), x) == [2, 2, 0]


def test_a_definition_is_written_node_by_node(device, stream, add, x):
    definition = GraphDefinition()
    zero = definition.memset(x.buffer, b"\x02\0\0\0", 3)
    assert (zero.value, zero.element_size, zero.width, zero.height) == (2, 4, 3, 1)
    left = zero.launch(ONE, add, x[0], 1)
    right = zero.launch(ONE, add, x[1], 2)
    joined = left.join(right)
    copy = joined.memcpy(x[2], x[1], 4)
    assert definition.nodes() == {zero, left, right, joined, copy}
    assert definition.edges() == {
        (zero, left), (zero, right), (left, joined), (right, joined), (joined, copy),
    }  # fmt: skip
    assert isinstance(joined, EmptyNode) and joined.pred == {left, right} and zero.succ == {left, right}
    assert left.kernel is add and left.config == ONE
    assert run(definition.instantiate(), x) == [3, 4, 4]
    assert "launch add" in str(definition)


def test_nodes_are_removed_and_edges_changed(device, stream, add, x):
    definition = GraphDefinition()
    first = definition.memset(x.buffer, 0, 12)
    second = first.launch(ONE, add, x[0], 1)
    third = second.launch(ONE, add, x[0], 2)
    second.destroy()
    second.destroy()
    assert not second.is_valid and third.pred == set()
    third.pred.add(first)
    third.pred = [first]
    assert definition.edges() == {(first, third)}
    assert run(definition.instantiate(), x) == [2, 0, 0]
    first.pred.add(third)
    with pytest.raises(ValueError, match="after itself"):
        definition.instantiate()
    with pytest.raises(ValueError, match="not a node of the same definition"):
        first.pred.add(GraphDefinition().empty())


def test_a_definition_with_children_and_events(device, stream, add, x):
    event, before = device.create_event(), device.create_event()
    child = GraphDefinition()
    inner = child.launch(ONE, add, x[1], 7)
    definition = GraphDefinition()
    node = definition.wait(before).memset(x.buffer, 0, 12).embed(child)
    last = node.record(event)
    child.launch(ONE, add, x[1], 100)  # the child was copied
    assert last.event is event and len(node.child_graph.nodes()) == 1
    graph = definition.instantiate()
    assert run(graph, x) == [0, 7, 0]
    event.sync()
    (copied,) = node.child_graph.nodes()
    graph[copied].update(ONE, add, x[2], 1)
    assert run(graph, x) == [0, 0, 1]
    with pytest.raises(KeyError):
        graph[inner]


def test_a_definition_with_conditions(device, module, add, x):
    definition = GraphDefinition()
    more = definition.create_condition(1)
    start = definition.launch(ONE, add, x[1], 4)
    loop = start.while_loop(more)
    assert isinstance(loop, ConditionalNode) and loop.condition == more
    loop.body.launch(ONE, add, x[0], 1).launch(ONE, module.get_kernel("countdown"), more, x[1])
    which = definition.create_condition(2)
    case = loop.switch(which, 3)
    case.branches[2].launch(ONE, add, x[2], 1)
    other = definition.create_condition(0)
    case.if_else(other).else_.launch(ONE, add, x[2], 10)
    assert run(definition.instantiate(), x) == [4, 0, 11]


def test_an_instantiated_graph_is_updated_from_another(device, add, x):
    def build(place):
        builder = device.create_graph_builder().begin_building()
        launch(builder, ONE, add, place, 1)
        return builder.end_building()

    graph = build(x[0]).complete()
    assert run(graph, x) == [1, 0, 0]
    graph.update(build(x[1]))
    assert run(graph, x) == [1, 1, 0]
    other = GraphDefinition()
    other.launch(ONE, add, x[2], 1)
    graph.update(other)
    assert run(graph, x) == [1, 1, 1]

    other.launch(ONE, add, x[2], 1)
    with pytest.raises(CUDAError):
        graph.update(other)
    assert run(graph, x) == [1, 1, 2]
    with pytest.raises(TypeError, match="expected GraphBuilder or GraphDefinition"):
        graph.update("not a graph")
    with pytest.raises(ValueError, match="Graph has not finished building"):
        graph.update(device.create_graph_builder().begin_building())
    closed = build(x[0])
    closed.close()
    with pytest.raises(ValueError, match="^Source graph builder has been closed."):
        graph.update(closed)


def test_one_node_is_changed_in_the_graph_or_in_the_definition(device, add, x):
    definition = GraphDefinition()
    fill = definition.memset(x.buffer, 0, 12)
    node = fill.launch(ONE, add, x[0], 1)
    graph = definition.instantiate()
    graph[node].update(ONE, add, x[1], 5)
    assert run(graph, x) == [0, 5, 0]
    graph[node].disable()
    assert not graph[node].is_enabled and run(graph, x) == [0, 0, 0]
    graph[node].enable()
    graph[fill].update(value=b"\x01\0\0\0", width=3)
    assert run(graph, x) == [1, 6, 1]

    node.update(ONE, add, x[2], 9)
    fill.update(width=4)
    assert fill.width == 4 and fill.value == 0
    assert run(definition.instantiate(), x) == [0, 6, 10]
    with pytest.raises(KeyError):
        graph[GraphDefinition().empty()]


def test_a_wrong_node_is_told_when_the_graph_is_made(device, stream, add, x):
    definition = GraphDefinition()
    definition.memcpy(x.buffer, x.buffer.sub(0, 4), 4)
    with pytest.raises(CUDAError):
        definition.memcpy(x.buffer, x.buffer.sub(0, 4), 12)
    with pytest.raises(TypeError, match="argument 1"):
        definition.launch(ONE, add, x.buffer, 1.5)
    with pytest.raises(CUDAError, match="destination 0x3039 lies in no open Buffer"):
        definition.memset(12345, 0, 4)
    with pytest.raises(TypeError, match="destination"):
        definition.memset("x", 0, 4)
    with pytest.raises(NotImplementedError, match="not served"):
        definition.instantiate(GraphCompleteOptions(device_launch=True))
    stream.sync()


def test_operands_of_another_session_are_refused(address, device, x):
    with holdfast.connect(address) as other:
        foreign = other.device(0)
        buffer = foreign.allocate(4, stream=foreign.create_stream())
        with pytest.raises(ValueError, match="another session"):
            GraphDefinition().memset(buffer, 0, 4)


def test_a_graph_is_drawn(device, add, x, tmp_path):
    definition = GraphDefinition()
    definition.memset(x.buffer, 0, 12).launch(ONE, add, x[0], 1)
    path = tmp_path / "graph.dot"
    definition.debug_dot_print(str(path), GraphDebugPrintOptions(verbose=True))
    assert "digraph" in path.read_text()
    builder = device.create_graph_builder().begin_building()
    launch(builder, ONE, add, x[0], 1)
    builder.end_building().debug_dot_print(str(path))
    assert "digraph" in path.read_text()


def test_a_graph_is_closed_once_and_for_all(device, stream, add, x):
    definition = GraphDefinition()
    definition.launch(ONE, add, x[0], 1)
    graph = definition.instantiate(GraphCompleteOptions(upload_stream=stream))
    assert graph.handle != 0 and "Graph" in repr(graph)
    graph.close()
    graph.close()
    assert graph.handle == 0
    with pytest.raises(RuntimeError):
        graph.launch(stream)


def test_kinds_of_recorded_nodes(device, stream, add, x):
    builder = device.create_graph_builder().begin_building()
    x.buffer.fill(0, stream=builder)
    x.buffer.sub(0, 4).copy_from(x.buffer.sub(4, 4), stream=builder)
    launch(builder, LaunchConfig(grid=(2, 3), block=4, shmem_size=16), add, x[2], 0)
    kinds = {type(node): node for node in builder.end_building().graph_definition.nodes()}
    assert set(kinds) == {MemsetNode, MemcpyNode, KernelNode}
    kernel = kinds[KernelNode]
    assert kernel.grid == (2, 3, 1) and kernel.block == (4, 1, 1) and kernel.shmem_size == 16
    assert Device() == device


def test_recorded_fills_and_copies_can_be_changed(device, stream, x):
    builder = device.create_graph_builder().begin_building()
    x.buffer.fill(b"\x05\0\0\0", stream=builder)
    x.buffer.sub(0, 4).copy_from(x.buffer.sub(4, 4), stream=builder)
    definition = builder.end_building().graph_definition
    fill, copy = sorted(definition.nodes(), key=lambda node: isinstance(node, MemcpyNode))
    assert (fill.value, fill.element_size, fill.width, fill.height) == (5, 4, 3, 1)
    assert int(fill.dptr) == int(x.buffer.handle) == int(copy.dst)
    assert (int(copy.src), copy.size) == (int(x.buffer.handle) + 4, 4)
    graph = definition.instantiate()
    assert run(graph, x) == [5, 5, 5]
    graph[fill].update(value=b"\x07\0\0\0", width=2)
    assert run(graph, x) == [7, 7, 5]
    graph[copy].update(src=x.buffer.handle + 8)
    assert run(graph, x) == [5, 7, 5]
    # The definition is as it was recorded, until it is changed itself.
    fill.update(dst=x.buffer.handle + 4, width=2)
    assert run(definition.instantiate(), x) == [5, 5, 5]
    assert (fill.value, fill.width) == (5, 2)


def test_a_recorded_fill_of_pinned_memory_can_be_changed(device, stream):
    memory = PinnedMemoryResource().allocate(8, stream=stream)
    if memory._is_ordinary:
        pytest.skip("the daemon is on another machine: ordinary memory, which graphs do not fill")
    builder = device.create_graph_builder().begin_building()
    memory.fill(1, stream=builder)
    definition = builder.end_building().graph_definition
    (fill,) = definition.nodes()
    graph = definition.instantiate()
    graph[fill].update(value=3, width=4)
    graph.launch(stream)
    stream.sync()
    assert bytes(memory.memory)[:4] == b"\3\3\3\3"


def test_a_definition_allocates_for_its_nodes(device, stream, add, x):
    definition = GraphDefinition()
    memory = definition.allocate(12)
    assert (memory.bytesize, memory.device_id) == (12, device.device_id)
    assert (memory.memory_type, memory.peer_access) == ("device", ())
    assert memory.type.name == "CU_GRAPH_NODE_TYPE_MEM_ALLOC"
    last = memory.memset(memory.dptr, b"\x05\0\0\0", 3).launch(ONE, add, memory.dptr + 4, 2)
    last = last.memcpy(x.buffer, memory.dptr, 12)
    freed = last.deallocate(memory.dptr)
    assert freed.dptr == memory.dptr and freed.type.name == "CU_GRAPH_NODE_TYPE_MEM_FREE"
    graph = definition.instantiate()
    assert run(graph, x) == [5, 7, 5] == run(graph, x)
    buffer = memory.buffer
    del definition, memory, last, freed
    gc.collect()
    assert run(graph, x) == [5, 7, 5]
    buffer.close()
    assert run(graph, x) == [5, 7, 5]


def test_memory_of_a_graph_can_be_read_after_a_launch(stream, add):
    definition = GraphDefinition()
    memory = definition.allocate(4)
    memory.memset(memory.dptr, 0, 4).launch(ONE, add, memory.dptr, 3)
    graph = definition.instantiate()
    graph.launch(stream)
    assert memory.buffer.copy_to(np.empty(1, np.int32), stream=stream)[0] == 3


def test_a_builder_allocates_and_frees(device, stream, add, x):
    pool = GraphMemoryResource(device)
    assert GraphMemoryResource(device.device_id) is pool
    builder = device.create_graph_builder().begin_building()
    memory = pool.allocate(12, stream=builder)
    assert memory.memory_resource is pool and memory.device_id == device.device_id
    memory.fill(b"\x05\0\0\0", stream=builder)
    launch(builder, ONE, add, memory, 2)
    x.buffer.copy_from(memory, stream=builder)
    memory.close(builder)
    del memory
    gc.collect()
    graph = builder.end_building().complete()
    assert run(graph, x) == [7, 5, 5] == run(graph, x)
    nodes = {type(node): node for node in builder.graph_definition.nodes()}
    assert AllocNode in nodes and FreeNode in nodes
    assert nodes[AllocNode].bytesize == 12 and nodes[AllocNode].dptr is None
    with pytest.raises(CUDAError, match="a graph that allocates memory is ready once at a time"):
        builder.complete()
    builder.close()
    assert run(graph, x) == [7, 5, 5]


def test_memory_that_no_graph_was_made_of_is_harmless(device, stream):
    definition = GraphDefinition()
    definition.allocate(4)
    builder = device.create_graph_builder().begin_building()
    GraphMemoryResource(device).allocate(4, stream=builder).close()
    builder.close()
    del definition, builder
    gc.collect()
    stream.sync()


def test_memory_of_a_graph_is_refused_where_there_is_none(address, device, stream, x):
    pool = GraphMemoryResource(device)
    with pytest.raises(RuntimeError, match="non-capturing stream"):
        pool.allocate(4, stream=stream)
    builder = device.create_graph_builder().begin_building()
    with pytest.raises(RuntimeError, match="GraphMemoryResource"):
        device.memory_resource.allocate(4, stream=builder)
    with pytest.raises(ValueError, match="a graph frees only"):
        x.buffer.close(builder)
    x.buffer.fill(1, stream=builder)
    assert run(builder.end_building().complete(), x) == [0x01010101] * 3

    definition = GraphDefinition()
    with pytest.raises(CUDAError, match="0 bytes"):
        definition.allocate(0)
    with pytest.raises(ValueError, match="'invalid' is not a valid GraphMemoryType"):
        definition.allocate(4, memory_type="invalid")
    with pytest.raises(NotImplementedError, match="managed"):
        definition.allocate(4, memory_type="managed")
    with pytest.raises(ValueError, match="not the beginning of memory that a graph"):
        definition.deallocate(x.buffer)
    with pytest.raises(ValueError, match="not the beginning"):
        definition.deallocate(definition.allocate(8).dptr + 4)
    with holdfast.connect(address) as other, pytest.raises(ValueError, match="another session"):
        definition.allocate(4, device=other.device(0))


def test_a_definition_with_memory_is_instantiated_once(stream):
    definition = GraphDefinition()
    memory = definition.allocate(4)
    memory.memset(memory.dptr, 0, 4)
    graph = definition.instantiate()
    with pytest.raises(CUDAError):
        definition.instantiate()
    graph.launch(stream)
    stream.sync()


def test_nodes_take_addresses_as_numbers_and_keep_their_owners(device, stream):
    source, target = (device.allocate(16, stream=stream) for _ in range(2))
    definition = GraphDefinition()
    node = definition.memset(int(source.handle) + 4, 7, 8, dst_owner=source)
    node.memcpy(int(target.handle), int(source.handle), 16, src_owner=source)
    graph = definition.instantiate()
    source.fill(0, stream=stream)
    graph.launch(stream)
    got = target.copy_to(bytearray(16), stream=stream)
    assert got == bytes(4) + b"\7" * 8 + bytes(4)
    with pytest.raises(ValueError, match="dst_owner cannot be used when dst is a Buffer"):
        definition.memset(target, 0, 4, dst_owner=source)
    with pytest.raises(ValueError, match="src_owner cannot be used when src is a Buffer"):
        definition.memcpy(int(target.handle), source, 4, src_owner=source)
    place = int(target.handle)
    source.close()
    for memset, message in (
        (lambda: definition.memset(source, 0, 4), "dst Buffer has no active allocation"),
        (lambda: definition.memset(place, 0, 4, dst_owner=source), "dst_owner Buffer has no"),
        (lambda: definition.memcpy(place, source, 4), "src Buffer has no active allocation"),
        (lambda: definition.memcpy(place, place, 4, src_owner=source), "src_owner Buffer has no"),
        (lambda: node.update(dst=source), "dst Buffer has no active allocation"),
    ):
        with pytest.raises(ValueError, match=message):
            memset()


def test_memory_that_is_not_made_yet_is_not_at_0(device):
    memory = GraphDefinition().allocate(8)
    assert memory.dptr != 0 and not memory.dptr == 0


def test_nodes_and_definitions_have_numbers_and_show_what_they_do(device, stream, add, x):
    definition = GraphDefinition()
    assert definition.handle and f"{definition.handle:#x}" in repr(definition)
    launched = definition.launch(ONE, add, x.buffer, 1)
    filled = launched.memset(x.buffer, 3, 4)
    assert launched.handle != filled.handle
    assert repr(launched) == f"<KernelNode handle={launched.handle:#x} kernel={add.handle:#x}>"
    assert f"dptr={int(x.buffer.handle):#x} value=3>" in repr(filled)
    filled.destroy()
    assert filled.handle is None and "destroyed" in repr(filled) and filled.type is None


def test_the_repr_of_a_node_shows_memory_that_is_not_made_yet(device):
    memory = GraphDefinition().allocate(8)
    shown = repr(memory).split("dptr=")[1].split()[0]
    assert f"dptr={shown} " in repr(memory.memset(memory.dptr, 1, 8))
    assert f"dst={shown}(D) " in repr(memory.memcpy(memory.dptr, memory.dptr, 8))


@pytest.mark.parametrize("default, runs", [(True, True), (False, False), (1, True)])
def test_the_default_of_a_condition_may_be_a_bool(stream, add, x, default, runs):
    definition = GraphDefinition()
    definition.if_then(definition.create_condition(default)).then.launch(ONE, add, x.buffer, 1)
    assert run(definition.instantiate(), x)[0] == runs
    builder = stream.create_graph_builder().begin_building()
    body = builder.if_then(builder.create_condition(default)).begin_building()
    launch(body, ONE, add, x.buffer, 1)
    body.end_building()
    assert run(builder.end_building().complete(), x)[0] == 2 * runs
