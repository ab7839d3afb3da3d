# SPDX-License-Identifier: Apache-2.0
"""What a caller gives and is told: numbers, arrays, memory of other libraries, errors."""

import ctypes
import os
import pickle
import subprocess
import sys

import holdfast
import numpy as np
import pytest
from holdfast import _native, _session, collections
from holdfast.core import (
    Buffer,
    CUDAError,
    Device,
    DeviceMemoryResource,
    DeviceMemoryResourceOptions,
    Event,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    NVRTCError,
    ObjectCode,
    Program,
    launch,
)
from holdfast.core.graph import GraphDefinition
from holdfast.core.utils import StridedMemoryView

SOURCE = r"""
extern "C" __global__ void add(int* x, int v) { atomicAdd(x, v); }
extern "C" __global__ void set(int* x) { x[0] = 7; }
extern "C" __global__ void none() {}
extern "C" __global__ void by_value(float* o, float v) { o[0] = v; }
__device__ int variable = 5;
"""
ONE = LaunchConfig(grid=1, block=1)


@pytest.fixture
def module(device):
    return Program(SOURCE, "c++").compile("cubin")


@pytest.fixture
def buffer(device, stream):
    buffer = device.allocate(24, stream=stream)
    buffer.fill(0, stream=stream)
    return buffer


def values(buffer, stream, dtype=np.int32):
    return buffer.copy_to(np.zeros(buffer.size // np.dtype(dtype).itemsize, dtype), stream=stream)


# ------------------------------------------------ errors that were caught


@pytest.mark.parametrize("wrong, code", [
    (lambda module: module.get_kernel("missing"), "NOT_FOUND"),
    (lambda module: module.get_kernel("t<float>"), "NOT_FOUND"),
    (lambda module: module.get_global("missing"), "NOT_FOUND"),
    (lambda module: ObjectCode.from_ptx(b"garbage").get_kernel("k"), "INVALID_ARGUMENT"),
    (lambda module: ObjectCode.from_cubin(b"\x7fELFgarbage").get_global("v"), "INVALID_ARGUMENT"),
])  # fmt: skip
def test_an_error_that_was_caught_does_not_come_again(stream, module, buffer, wrong, code):
    for _ in range(2):
        with pytest.raises(CUDAError) as caught:
            wrong(module)
        assert caught.value.code == code
        stream.sync()
        launch(stream, ONE, module.get_kernel("set"), buffer)
        assert values(buffer, stream)[0] == 7


def test_a_buffer_that_could_not_be_made_tells_each_use_and_no_other_call(address):
    with holdfast.connect(address, memory_limit=1 << 20) as session:
        device = session.device(0)
        stream = device.create_stream()
        buffer = device.allocate(64, stream=stream)
        buffer.fill(0, stream=stream)
        huge = device.allocate(1 << 24, stream=stream)
        data = np.zeros(8, np.uint8)
        with pytest.raises(CUDAError, match="16777216"):
            huge.sub(0, 8)._download(data, 0, stream)
        stream.sync()
        assert (values(buffer, stream) == 0).all()


def test_more_memory_than_the_device_has_is_refused_at_once(device, stream):
    with pytest.raises(CUDAError, match="CUDA_ERROR_OUT_OF_MEMORY.*1152921504606846976") as caught:
        device.allocate(1 << 60, stream=stream)
    assert caught.value.result_name == "CUDA_ERROR_OUT_OF_MEMORY"
    stream.sync()


def test_the_driver_that_cannot_load_is_no_compiler(device, module):
    with pytest.raises(CUDAError) as caught:
        ObjectCode.from_ptx(b".version 7.0\n.target sm_70\nnonsense").get_kernel("k")
    assert not isinstance(caught.value, NVRTCError)
    with pytest.raises(NVRTCError) as caught:
        Program("nonsense here", "c++").compile("cubin")
    assert str(caught.value).count(caught.value.log.strip()) == 1


# ------------------------------------------------------------ numbers


class Index:
    def __index__(self):
        return 8


@pytest.mark.parametrize("eight", [np.uint64(8), np.int8(8), Index(), True + 7])
def test_sizes_are_whole_numbers_of_any_kind(device, stream, buffer, module, eight):
    assert device.allocate(eight, stream=stream).size == 8
    assert LegacyPinnedMemoryResource().allocate(eight).size == 8
    assert buffer.sub(eight, eight).size == 8 and buffer.handle + eight - eight == buffer.handle
    definition = GraphDefinition()
    node = definition.allocate(eight)
    node.memset(node.dptr, 0, eight).memcpy(node.dptr, buffer, eight)
    assert definition.instantiate() is not None
    assert LaunchConfig(grid=eight, block=(eight, 1), shmem_size=eight).grid == (8, 1, 1)
    occupancy = module.get_kernel("none").occupancy
    assert occupancy.max_active_blocks_per_multiprocessor(eight, eight) > 0
    assert Device(eight - eight if isinstance(eight, int) else np.int64(0)) is device
    assert StridedMemoryView.from_buffer(buffer, (eight, np.int32(3))).shape == (8, 3)


@pytest.mark.parametrize("take", [
    lambda device, stream, buffer, n: device.allocate(n, stream=stream),
    lambda device, stream, buffer, n: buffer.sub(n, 8),
    lambda device, stream, buffer, n: buffer.sub(0, n),
    lambda device, stream, buffer, n: GraphDefinition().allocate(n),
    lambda device, stream, buffer, n: GraphDefinition().memcpy(buffer, buffer, n),
    lambda device, stream, buffer, n: GraphDefinition().memset(buffer, 0, n),
    lambda device, stream, buffer, n: GraphDefinition().create_condition(n),
    lambda device, stream, buffer, n: LaunchConfig(grid=(1, n), block=1),
    lambda device, stream, buffer, n: LaunchConfig(grid=1, block=n),
    lambda device, stream, buffer, n: LaunchConfig(grid=1, block=1, shmem_size=n),
    lambda device, stream, buffer, n: LaunchConfig(grid=1, cluster=n, block=1),
    lambda device, stream, buffer, n: collections.open("none", n),
    lambda device, stream, buffer, n: collections.delete("none", n),
    lambda device, stream, buffer, n: holdfast.Semaphore(n),
    lambda device, stream, buffer, n: holdfast.connect(device.session.address, memory_limit=n),
])  # fmt: skip
def test_numbers_that_do_not_fit_are_refused_by_name(device, stream, buffer, take):
    no_number = (TypeError, ValueError)  # ValueError of LaunchConfig, as cuda.core's
    for number, error in ((2**64 + 8, OverflowError), (-1, ValueError), (1.5, no_number)):
        with pytest.raises(error, match=r"size|offset|grid|block|cluster|shmem|version|value|limit|"
                           "width"):  # fmt: skip
            take(device, stream, buffer, number)
    with pytest.raises((TypeError, ValueError)):
        take(device, stream, buffer, "8")
    stream.sync()


def test_seconds_are_numbers_of_at_least_0(device, embedded):
    for name in ("reconnect_grace", "kernel_time_limit", "detached_lifetime"):
        for value, error in ((-1, ValueError), (float("nan"), ValueError), ("1", TypeError)):
            with pytest.raises(error, match=f"^{name} must be"):
                holdfast.connect(embedded, **{name: value})


def test_products_of_grid_and_cluster_do_not_wrap():
    with pytest.raises(OverflowError, match="grid is too large: 4294967296"):
        LaunchConfig(grid=2**31, cluster=2, block=1)


def test_a_part_beyond_its_buffer_is_refused_at_once(stream, buffer):
    for offset, size in ((20, 8), (25, 0), (0, 25)):
        with pytest.raises(ValueError, match=f"{size} bytes at offset {offset} of a Buffer of 24"):
            buffer.sub(offset, size)
    assert buffer.sub(24, 0).size == 0
    stream.sync()


# ----------------------------------------------------------- launches


@pytest.mark.parametrize("config, why", [
    (dict(grid=2**31, block=1), "grid"),
    (dict(grid=(1, 65536), block=1), "65535"),
    (dict(grid=1, block=1025), "1024"),
    (dict(grid=1, block=(1, 1, 65)), "64"),
    (dict(grid=1, block=(64, 32)), "2048 threads"),
    (dict(grid=1, block=1, shmem_size=1 << 20), "1048576 bytes of dynamic shared memory"),
    (dict(grid=1 << 20, block=128, is_cooperative=True), "1048576 blocks"),
])  # fmt: skip
def test_what_the_device_cannot_launch_is_a_value_error_of_the_launch(
    device, stream, module, config, why
):
    kernel = module.get_kernel("none")
    with pytest.raises(ValueError, match=why) as caught:
        launch(stream, LaunchConfig(**config), kernel)
    assert isinstance(caught.value, CUDAError)
    stream.sync()


def test_what_the_device_can_launch_is_launched(device, stream, module):
    kernel = module.get_kernel("none")
    multiprocessors = device.properties.multiprocessor_count
    for config in (
        dict(grid=(1, 65535), block=1),
        dict(grid=1, block=(16, 1, 64)),
        dict(grid=multiprocessors, block=32, is_cooperative=True),
        dict(grid=1, block=1, shmem_size=64 << 10),
    ):
        launch(stream, LaunchConfig(**config), kernel)
    stream.sync()


# ------------------------------------------------------------- arrays


class Swapped(ctypes.BigEndianStructure):
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_int)]


OBJECTS = [
    np.array([1, 2, 3], object),
    np.zeros(1, [("x", "i8"), ("o", object), ("y", "i8")]),
    (ctypes.py_object * 3)(),
    (ctypes.POINTER(ctypes.c_int) * 3)(),
    (ctypes.c_char_p * 3)(),
]
SWAPPED = [
    np.arange(6).astype(">f4"),
    np.arange(6).astype(">i4"),
    np.zeros(3, ">c8"),
    np.zeros(3, ">U2"),
    np.zeros(2, [("a", "i4"), ("b", ">f8")]),
    (Swapped * 3)(),
]


@pytest.mark.parametrize("pinned", [False, True])
def test_arrays_that_a_device_cannot_have_are_refused(device, stream, buffer, pinned):
    target = LegacyPinnedMemoryResource().allocate(24) if pinned else buffer
    for error, arrays in ((TypeError, OBJECTS), (ValueError, SWAPPED)):
        for array in arrays:
            assert memoryview(array).nbytes == 24
            with pytest.raises(error, match="elements of type"):
                target.copy_from(array, stream=stream)
            with pytest.raises(error, match="elements of type"):
                target.copy_to(array, stream=stream)
    with pytest.raises(ValueError, match="contiguous"):
        target.copy_from(np.arange(12, dtype=np.int32)[::2], stream=stream)
    with pytest.raises(ValueError, match="contiguous"):
        target.copy_to(np.zeros((3, 2), np.int32).T, stream=stream)
    with pytest.raises(ValueError, match="dtype"):
        target.copy_from(np.zeros(3, "M8[s]"), stream=stream)
    with pytest.raises(TypeError, match="buffer protocol expected, got list"):
        target.copy_from([1, 2, 3], stream=stream)
    read_only = np.zeros(6, np.int32)
    read_only.flags.writeable = False
    for array in (read_only, bytes(24)):
        with pytest.raises(BufferError, match="read-only"):
            target.copy_to(array, stream=stream)
        target.copy_from(array, stream=stream)
    stream.sync()


def test_other_arrays_of_numbers_go_up_and_down(stream, buffer):
    for array in (
        np.arange(24, dtype=np.uint8),
        np.array([b"abcdef"] * 4),
        np.array(["ab", "cd", "ef"]),
        np.arange(24, dtype=np.uint8).view("V8"),
        np.ones(3, [("a", "<i4"), ("b", "f4")]),
        np.arange(24, dtype=">u1").view("S1"),
        (ctypes.c_float * 6)(1, 2, 3),
        (ctypes.c_void_p * 3)(1, 2, 3),
        memoryview(bytearray(range(24))),
    ):
        buffer.copy_from(array, stream=stream)
        got = bytearray(24)
        buffer.copy_to(got, stream=stream)
        assert bytes(got) == memoryview(array).tobytes()


def test_arguments_and_patterns_are_numbers_of_the_devices_order(stream, module, buffer):
    kernel = module.get_kernel("by_value")
    for wrong in (np.array(2.5, ">f4"), np.array(1, object), Swapped(), ctypes.c_char_p(b"x")):
        with pytest.raises((TypeError, ValueError)):
            launch(stream, ONE, kernel, buffer, wrong)
    for wrong in (np.array(2.5, ">f4"), np.array(1, object)):
        with pytest.raises((TypeError, ValueError)):
            buffer.fill(wrong, stream=stream)
        with pytest.raises((TypeError, ValueError)):
            GraphDefinition().memset(buffer, wrong, 1)
    buffer.fill(np.float32(2.5), stream=stream)
    assert (values(buffer, stream, np.float32) == 2.5).all()


# ------------------------------------------------------------- DLPack


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", DLTensor),
    ]  # fmt: skip


def versioned(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Versioned.from_address(get(capsule, b"dltensor_versioned"))


def test_a_capsule_of_version_1_is_writable_or_says_that_it_is_not(device, stream):
    host = LegacyPinnedMemoryResource().allocate(64)
    kind = 3 if host.is_device_accessible else 1
    assert host.__dlpack_device__() == (kind, 0)
    capsule = host.__dlpack__(max_version=(1, 0))
    taken = versioned(capsule)
    assert (taken.major, taken.flags) == (1, 0)
    tensor = taken.tensor
    assert (tensor.device_type, tensor.ndim, tensor.shape[0], tensor.bits) == (kind, 1, 64, 8)
    ctypes.memset(tensor.data, 9, 64)
    assert bytes(host.memory) == bytes([9]) * 64
    assert versioned(host.__dlpack__(max_version=(2, 1), dl_device=(1, 0))).tensor.device_type == 1
    view = StridedMemoryView.from_buffer(host, 64, is_readonly=True)
    assert versioned(view.__dlpack__(max_version=(1, 0))).flags == 1
    with pytest.raises(BufferError, match="read-only"):
        view.__dlpack__()
    again = StridedMemoryView.from_dlpack(view, stream_ptr=-1)
    assert again.readonly and again.shape == (64,)
    assert not StridedMemoryView.from_dlpack(host, stream_ptr=-1).readonly


def test_a_capsule_keeps_its_memory_and_gives_it_back(device):
    host = LegacyPinnedMemoryResource().allocate(64)
    memory = host._memory
    before = sys.getrefcount(memory)
    for version in (None, (1, 0)):
        capsule = host.__dlpack__(max_version=version)
        assert sys.getrefcount(memory) == before + 1
        del capsule
        assert sys.getrefcount(memory) == before
        taken = _native.take_dlpack(host.__dlpack__(max_version=version))
        assert sys.getrefcount(memory) == before + 1
        del taken
        assert sys.getrefcount(memory) == before


@pytest.mark.parametrize("asked", [
    dict(copy=True), dict(dl_device=(2, 0)), dict(dl_device=(1, 1)), dict(max_version=()),
    dict(max_version=(1,)), dict(max_version="1.0"), dict(max_version=(1.0, 0)),
])  # fmt: skip
def test_what_dlpack_cannot_give_is_a_buffer_error(device, asked):
    host = LegacyPinnedMemoryResource().allocate(64)
    for memory in (host, StridedMemoryView.from_buffer(host, 64)):
        with pytest.raises(BufferError):
            memory.__dlpack__(**asked)


def test_pinned_memory_is_numpys_over_a_network_too(device):
    host = LegacyPinnedMemoryResource().allocate(64)
    np.frombuffer(host.memory, np.uint8)[:] = 3
    assert (np.from_dlpack(host) == 3).all()


def test_a_scalar_view_has_no_strides(device, stream):
    buffer = device.allocate(4, stream=stream)
    view = StridedMemoryView.from_buffer(buffer, shape=(), strides=(), dtype=np.int32)
    assert view.strides == () and view.shape == ()


# ------------------------------------------------ pinned memory of streams


def needs_this_machine(buffer):
    if not buffer.is_device_accessible:
        pytest.skip("pinned memory of a daemon on another machine is this process's alone")


def test_pinned_memory_is_filled_and_copied_in_the_streams_order(device, stream, buffer):
    a, b = (LegacyPinnedMemoryResource().allocate(24) for _ in range(2))
    a.fill(5, stream=stream)
    b.copy_from(a, stream=stream)
    buffer.copy_from(b, stream=stream)
    a.fill(b"\1\2\3\4", stream=stream)
    stream.sync()
    assert (values(buffer, stream, np.uint8) == 5).all()
    assert bytes(a.memory) == b"\1\2\3\4" * 6 and bytes(b.memory) == b"\5" * 24


def test_a_graph_fills_and_copies_pinned_memory(device, stream, buffer):
    a, b, c = (LegacyPinnedMemoryResource().allocate(24) for _ in range(3))
    needs_this_machine(a)
    builder = device.create_graph_builder().begin_building()
    a.fill(5, stream=builder)
    b.copy_from(a, stream=builder)
    recorded = builder.end_building().complete()
    definition = GraphDefinition()
    node = definition.memset(buffer, 7, 24).memcpy(c.handle + 4, buffer, 8)
    node.memset(c, b"\3\3", 2).memcpy(buffer, c, 24)
    written = definition.instantiate()
    c.fill(0, stream=stream)
    recorded.launch(stream)
    written.launch(stream)
    stream.sync()
    assert bytes(b.memory) == b"\5" * 24
    expected = b"\3" * 4 + b"\7" * 8 + bytes(12)
    assert bytes(c.memory) == expected and values(buffer, stream, np.uint8).tobytes() == expected
    with pytest.raises(ValueError, match="25 bytes at offset 0 of a span of 24"):
        definition.memcpy(c, buffer, 25)


# ------------------------------------------------------------- graphs


def test_each_part_of_a_node_can_be_left_out(device, stream, module, buffer):
    add = module.get_kernel("add")
    definition = GraphDefinition()
    node = definition.launch(ONE, add, buffer, 5)
    copy = node.memcpy(buffer.handle + 4, buffer, 4)
    graph = definition.instantiate()
    changed = graph[node]

    def first():
        graph.launch(stream)
        return values(buffer, stream)[0]

    assert first() == 5
    changed.update(args=(buffer, 50))
    assert first() == 55
    changed.update(config=LaunchConfig(grid=1, block=2))
    assert first() == 155
    changed.update(kernel=module.get_kernel("none"), args=())
    assert first() == 155
    changed.update(ONE, add, buffer, 1)
    assert first() == 156
    node.update(args=(buffer, 7))  # of the definition alone
    assert first() == 157 and node.config == ONE
    for wrong, error in (
        (dict(nonsense=1), TypeError),
        (dict(args=7), TypeError),
        (dict(args=(buffer,)), ValueError),
    ):
        with pytest.raises(error) as caught:
            changed.update(**wrong)
        assert "._" not in str(caught.value) and "_merged" not in str(caught.value)
    for size, error in ((-1, ValueError), (2**64, OverflowError), (1.5, TypeError)):
        with pytest.raises(error, match="size"):
            graph[copy].update(size=size)
    assert first() == 158


def test_a_node_of_a_graph_that_was_updated_as_a_whole(device, stream, module, buffer):
    add = module.get_kernel("add")
    definition = GraphDefinition()
    node = definition.launch(ONE, add, buffer, 5)
    graph = definition.instantiate()
    other = GraphDefinition()
    other.launch(ONE, add, buffer, 6)
    node.update(args=(buffer, 8))
    graph.update(definition)
    graph[node].update(config=LaunchConfig(grid=2, block=1))
    graph.launch(stream)
    assert values(buffer, stream)[0] == 16
    graph.update(other)
    with pytest.raises(ValueError, match="the whole graph was updated"):
        graph[node].update(args=(buffer, 1))


def test_neighbours_are_sets_and_say_what_is_no_neighbour(device):
    definition = GraphDefinition()
    a, b, c = (definition.empty() for _ in range(3))
    a.succ = {b, c}
    assert a.succ & {b} == {b} and a.succ | {a} == {a, b, c}
    assert a.succ - {b} == {c} and a.succ ^ {a, b} == {a, c} and b.pred == {a}
    with pytest.raises(TypeError):
        a.succ.add("no node")
    with pytest.raises(TypeError):
        definition.join(a, "no node")
    c.destroy()
    for wrong in (GraphDefinition().empty(), a, c):
        with pytest.raises(CUDAError):
            a.succ.add(wrong)
    assert c.succ == set()


def test_a_join_that_fails_closes_the_forks(device):
    builder = device.create_graph_builder().begin_building()
    fork = builder.split(2)[1]
    other = device.create_graph_builder().begin_building().split(2)[1]
    with pytest.raises(CUDAError):
        builder.join(builder, other, fork)
    assert fork.stream is None and other.stream is None


def test_a_programmatic_launch_is_recorded(device, stream, module, buffer):
    builder = device.create_graph_builder().begin_building()
    config = LaunchConfig(grid=1, block=1, programmatic_stream_serialization=True)
    for _ in range(2):
        launch(builder, config, module.get_kernel("add"), buffer, 1)
    builder.end_building().complete().launch(stream)
    assert values(buffer, stream)[0] == 2


# ------------------------------------------------- objects and processes


def test_flags_are_bools_and_views_are_made_by_their_owners(device, module):
    kernel = module.get_kernel("none")
    for name in ("cache_mode_ca", "cluster_size_must_be_set", "non_portable_cluster_size_allowed"):
        assert type(getattr(kernel.attributes, name)) is bool
    for name in dir(device.properties):
        if name.endswith("_supported"):
            assert type(getattr(device.properties, name)) is bool, name
    assert type(device.properties.multiprocessor_count) is int
    for of in (device.properties, kernel.attributes, kernel.occupancy):
        with pytest.raises(RuntimeError, match="cannot be instantiated directly"):
            type(of)()
    with pytest.raises(TypeError):
        kernel.occupancy.max_potential_block_size(Ellipsis, 0)


def test_code_of_a_file_has_the_files_name(device, tmp_path):
    path = tmp_path / "none.ptx"
    path.write_bytes(Program(SOURCE, "c++").compile("ptx").code.rstrip(b"\0"))
    code = ObjectCode.from_ptx(str(path))
    assert code.code == str(path) and ObjectCode.from_ptx(path).code == str(path)
    again = pickle.loads(pickle.dumps(code))
    assert again.get_kernel("none").num_arguments == code.get_kernel("none").num_arguments == 0


def test_a_pickled_device_is_of_the_same_daemon(embedded):
    with holdfast.connect("embedded:device=cpu") as own, holdfast.connect(embedded) as other:
        for current in (own, other):
            current.device(0).set_current()
            assert pickle.loads(pickle.dumps(current.device(0))) is current.device(0)
            for session in (own, other):
                again = pickle.loads(pickle.dumps(session.device(0)))
                assert again.session.address == session.address
        assert own.address != other.address
        _session.set_current_device(None)


ADDRESS_OF = "import pickle, sys; print(pickle.load(sys.stdin.buffer).session.address)"


def run_child(data, **environment):
    base = {k: v for k, v in os.environ.items() if not k.startswith("HOLDFAST_TOKEN")}
    base.pop("HOLDFAST_ADDRESS", None)
    return subprocess.run(
        [sys.executable, "-c", ADDRESS_OF], input=data, capture_output=True,
        env={**base, **environment},
    )  # fmt: skip


def test_a_pickled_device_finds_its_daemon_in_another_process(device, address):
    data = pickle.dumps(device)
    child = run_child(data, HOLDFAST_ADDRESS=address)
    assert child.stdout.decode().strip() == device.session.address, child.stderr
    if address.startswith("unix:"):
        assert run_child(data).stdout.decode().strip() == device.session.address


def test_what_comes_from_elsewhere_makes_no_session_with_a_stranger(device, tcp_address):
    listener = _listen()
    stranger = f"tcp:127.0.0.1:{listener.getsockname()[1]}"
    data = _device_at(stranger)
    for environment in (dict(HOLDFAST_TOKEN="secret"), dict(HOLDFAST_ADDRESS=tcp_address), {}):
        child = run_child(data, **environment)
        assert b"with which this process has no session" in child.stderr
    data = _device_at("unix:/tmp/no-daemon-is-here")
    assert b"has no session" in run_child(data, HOLDFAST_TOKEN="secret").stderr
    with pytest.raises(BlockingIOError):  # Nobody has connected.
        listener.accept()
    listener.close()


def _listen():
    import socket

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    return listener


class _At:
    def __init__(self, address):
        self.address = address

    def __reduce__(self):
        from holdfast import _sharing

        return _sharing.device_at, (self.address, 0)


def _device_at(address):
    return pickle.dumps(_At(address))


def test_memory_that_is_not_shared_says_how_it_could_be(device, stream):
    ordinary = device.allocate(64, stream=stream)
    pinned = LegacyPinnedMemoryResource().allocate(64)
    for buffer in (ordinary, pinned):
        with pytest.raises(RuntimeError, match="not IPC-enabled.*ipc_enabled=True"):
            buffer.ipc_descriptor
        with pytest.raises(RuntimeError, match="ipc_enabled=True"):
            pickle.dumps(buffer)
    stream.sync()


def test_memory_of_another_process_can_be_sent_on(device, stream, other):
    shared = DeviceMemoryResource(device, DeviceMemoryResourceOptions(ipc_enabled=True))
    buffer = shared.allocate(64, stream=stream)
    buffer.fill(6, stream=stream)
    stream.sync()
    there = Buffer.from_ipc_descriptor(DeviceMemoryResource(other.device(0)), buffer.ipc_descriptor)
    third = pickle.loads(pickle.dumps(there))
    assert third.size == 64 and (values(third, stream, np.uint8) == 6).all()


def test_a_pickled_event_keeps_how_it_waits(device, stream):
    for blocking in (True, False):
        event = stream.record(options=dict(ipc_enabled=True, blocking_sync=blocking))
        again = pickle.loads(pickle.dumps(event))
        assert isinstance(again, Event) and again.is_blocking_sync is blocking
