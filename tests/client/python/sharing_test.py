# SPDX-License-Identifier: Apache-2.0
"""Buffers, events and semaphores that pass between sessions and processes, and collections."""

import ctypes
import gc
import itertools
import json
import os
import pickle
import subprocess
import sys
import threading
import zipfile

import holdfast
import numpy as np
import pytest
from holdfast import collections
from holdfast.core import (
    Buffer,
    CUDAError,
    DeviceMemoryResource,
    Event,
    LaunchConfig,
    Program,
    launch,
)
from holdfast.core.utils import StridedMemoryView


@pytest.fixture
def other(address):
    """A second session with the same daemon."""
    with holdfast.connect(address) as opened:
        yield opened


@pytest.fixture
def shared(device, stream):
    """A Buffer of 16 bytes that can be exported."""
    resource = DeviceMemoryResource(device, {"ipc_enabled": True})
    assert resource.is_ipc_enabled
    buffer = resource.allocate(16, stream=stream)
    buffer.copy_from(np.arange(4, dtype=np.int32), stream=stream)
    stream.sync()
    return buffer


def read(buffer, stream):
    return buffer.copy_to(np.empty(4, np.int32), stream=stream).tolist()


def test_a_buffer_passes_by_a_descriptor(session, other, shared):
    descriptor = pickle.loads(pickle.dumps(shared.export(imports=1)))
    assert descriptor.size == 16 and descriptor.address == session.address
    device = other.device(0)
    there = device.create_stream()
    imported = Buffer.from_ipc_descriptor(device.memory_resource, descriptor, stream=there)
    assert imported.is_mapped and not shared.is_mapped
    assert read(imported, there) == [0, 1, 2, 3]
    shared.close()
    assert read(imported, there) == [0, 1, 2, 3]
    with pytest.raises(CUDAError) as caught:
        Buffer.from_ipc_descriptor(device.memory_resource, descriptor, stream=there)
    assert caught.value.code == "NOT_FOUND"


def test_a_part_passes_and_a_token_can_be_revoked(session, other, shared):
    device = other.device(0)
    part = shared.export(offset=8, size=8)
    imported = Buffer.from_ipc_descriptor(device.memory_resource, part)
    assert imported.size == 8
    revoked = shared.export(imports=5)
    session.revoke(revoked)
    with pytest.raises(CUDAError):
        Buffer.from_ipc_descriptor(device.memory_resource, revoked)
    bound = shared.export(session_id=other.id)
    assert Buffer.from_ipc_descriptor(device.memory_resource, bound).size == 16


def test_an_ordinary_buffer_cannot_be_exported(device, stream):
    with pytest.raises(CUDAError) as caught:
        device.allocate(16, stream=stream).export()
    assert caught.value.code == "FAILED_PRECONDITION"


def test_a_pickled_buffer_is_the_same_memory(session, device, stream, shared):
    assert shared.ipc_descriptor is shared.ipc_descriptor
    # Within one session: memory of its own is imported like any other.
    with holdfast.connect(session.address) as importer:
        importer.device(0).set_current()
        twin = pickle.loads(pickle.dumps(shared))
        there = importer.device(0).create_stream()
        twin.fill(7, stream=there)
        there.sync()
        assert twin.is_mapped
    assert read(shared, stream) == [0x07070707] * 4


def test_a_stream_waits_for_an_event_of_another_session(device, stream, other, shared):
    gate = holdfast.Semaphore(device=device)
    gate.wait(1, stream=stream)
    shared.fill(1, stream=stream)
    done = stream.record(options={"ipc_enabled": True})
    assert done.is_ipc_enabled and not done.is_done
    seen = Event.from_ipc_descriptor(done.ipc_descriptor, device=other.device(0))
    assert seen.is_ipc_enabled and not seen.is_done
    there = other.device(0).create_stream()
    imported = Buffer.from_ipc_descriptor(
        other.device(0).memory_resource, shared.export(), stream=there
    )
    there.wait(seen)
    gate.signal(1)
    assert read(imported, there) == [0x01010101] * 4
    seen.sync()
    assert seen.is_done
    assert done.ipc_descriptor is done.ipc_descriptor  # one token for all
    with pytest.raises(CUDAError) as caught:
        there.record(seen)
        there.sync()
    assert caught.value.code == "FAILED_PRECONDITION"


def test_events_that_cannot_be_shared_say_so(device, stream):
    with pytest.raises(RuntimeError, match="not IPC-enabled"):
        _ = stream.record().ipc_descriptor
    with pytest.raises(TypeError, match="timing"):
        device.create_event({"ipc_enabled": True, "timing_enabled": True})
    with pytest.raises(ValueError, match="16 bytes or an IPC handle of 64"):
        Event.from_ipc_descriptor(b"short", device=device)
    with pytest.raises(CUDAError):
        Event.from_ipc_descriptor(b"Z" * 64, device=device)


def test_memory_for_ipc_handles(device, stream):
    buffer = Buffer.for_ipc_handle(16, device=device)
    buffer.copy_from(np.arange(4, dtype=np.int32), stream=stream)
    assert read(buffer, stream) == [0, 1, 2, 3]
    handle, offset = buffer.ipc_handle
    assert len(handle) == 64 and offset >= 0
    with pytest.raises(CUDAError) as caught:
        _ = device.allocate(16, stream=stream).ipc_handle
    assert caught.value.code == "FAILED_PRECONDITION"


def test_pools_that_are_none_are_refused(device):
    with pytest.raises(ValueError, match="64 bytes of a pool"):
        Buffer.from_pool(0, b"short", 16, device=device)
    with pytest.raises(CUDAError), open(os.devnull, "rb") as file:
        Buffer.from_pool(file.fileno(), b"Z" * 64, 16, device=device)


def test_semaphores_order_streams_of_two_sessions(device, stream, other, shared):
    done = holdfast.Semaphore(device=device)
    seen = holdfast.Semaphore.from_descriptor(done.export(), device=other.device(0))
    there = other.device(0).create_stream()
    imported = Buffer.from_ipc_descriptor(
        other.device(0).memory_resource, shared.export(), stream=there
    )
    seen.wait(1, stream=there)
    shared.fill(1, stream=stream)
    done.signal(1, stream=stream)
    assert read(imported, there) == [0x01010101] * 4
    assert done.value == seen.value == 1
    done.signal(5)
    assert done.value == 5 and seen.value == 5
    with pytest.raises(CUDAError):  # it may only wait and read
        seen.signal(6)
        there.sync()
    assert pickle.dumps(done) == pickle.dumps(done)  # one token for all
    assert "Semaphore" in repr(done)
    done.close()
    assert "closed" in repr(done)


def driver_of_this_process(device):
    """The library that this process's views of the memory are for, with a context."""
    info = device.session._info(0)
    driver = ctypes.CDLL(info["driver_path"] if device.is_software else "libcuda.so.1")
    context = ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxPushCurrent_v2(context) == 0
    return driver


class Tensor(ctypes.Structure):
    """The beginning of DLPack's DLManagedTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
    ]


def tensor_of(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Tensor.from_address(get(capsule, b"dltensor"))


@pytest.fixture
def local(request, address):
    if address.startswith("tcp:"):
        pytest.skip("the daemon's memory is mapped on its own machine, by its Unix socket")


def test_another_library_of_this_process_sees_the_memory(local, device, stream, shared):
    driver = driver_of_this_process(device)
    assert shared.__dlpack_device__() == (2, 0)
    capsule = shared.__dlpack__()
    tensor = tensor_of(capsule)
    assert (tensor.device_type, tensor.device_id, tensor.ndim) == (2, 0, 1)
    assert (tensor.code, tensor.bits, tensor.shape[0]) == (1, 8, 16)
    interface = shared.__cuda_array_interface__
    assert interface["data"] == (tensor.data, False) and interface["shape"] == (16,)

    shared.close()
    del shared
    gc.collect()  # the capsule keeps the memory
    found = (ctypes.c_int32 * 4)()
    assert driver.cuMemcpyDtoH_v2(found, ctypes.c_uint64(tensor.data), ctypes.c_size_t(16)) == 0
    assert list(found) == [0, 1, 2, 3]


def test_a_library_of_this_process_writes_what_the_session_reads(local, device, stream, shared):
    driver = driver_of_this_process(device)
    view = shared.map_locally()
    assert not view.readonly and view.size == 16 and "16 bytes" in repr(view)
    data = (ctypes.c_int32 * 4)(9, 8, 7, 6)
    assert driver.cuMemcpyHtoD_v2(ctypes.c_uint64(view.ptr), data, ctypes.c_size_t(16)) == 0
    assert read(shared, stream) == [9, 8, 7, 6]
    view.close()
    assert "closed" in repr(view)
    frozen = shared.map_locally(writable=False)
    assert frozen.__cuda_array_interface__["data"][1]
    with pytest.raises(BufferError, match="read-only"):
        frozen.__dlpack__()


def test_kernels_of_the_daemon_use_memory_of_this_process(local, device, stream, shared):
    driver = driver_of_this_process(device)
    view = shared.map_locally()  # memory that this process has, however it came by it
    buffer = Buffer.from_handle(view.ptr + 4, 8, owner=view)
    assert buffer.is_mapped and buffer.owner is view and buffer.size == 8
    data = (ctypes.c_int32 * 4)(9, 8, 7, 6)
    assert driver.cuMemcpyHtoD_v2(ctypes.c_uint64(view.ptr), data, ctypes.c_size_t(16)) == 0
    assert buffer.copy_to(np.empty(2, np.int32), stream=stream).tolist() == [8, 7]
    buffer.fill(5, stream=stream)
    stream.sync()
    buffer.close()
    assert buffer.owner is None
    found = (ctypes.c_int32 * 4)()
    assert driver.cuMemcpyDtoH_v2(found, ctypes.c_uint64(view.ptr), ctypes.c_size_t(16)) == 0
    assert list(found) == [9, 0x05050505, 0x05050505, 6]
    with pytest.raises(holdfast.CUDAError, match="of an allocation of"):
        Buffer.from_handle(view.ptr, 1 << 40)
    with pytest.raises(holdfast.CUDAError, match="cannot be shared"):
        Buffer.from_handle(64, 4)


def test_a_library_of_this_process_gets_shape_and_type(local, device, stream, shared):
    driver_of_this_process(device)
    view = StridedMemoryView.from_buffer(shared, (2, 2), (1, 2), dtype=np.int32)
    assert view.__dlpack_device__() == (2, 0)
    taken = StridedMemoryView.from_dlpack(view, -1)
    assert (taken.shape, taken.strides, taken.dtype) == ((2, 2), (1, 2), np.int32)
    assert taken.is_device_accessible and taken.device_id == 0
    assert taken.ptr == shared.__cuda_array_interface__["data"][0]
    with pytest.raises(BufferError, match="stream_ptr"):
        StridedMemoryView.from_dlpack(view)


def test_an_ordinary_buffer_is_not_seen_by_libraries(device, stream):
    buffer = device.allocate(16, stream=stream)
    assert not hasattr(buffer, "__cuda_array_interface__")
    with pytest.raises(BufferError, match="ipc_enabled"):
        buffer.__dlpack__()


CHILD = """
import pickle, sys
import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch
buffer, ready, answered = pickle.load(sys.stdin.buffer)
device = ready.device
device.set_current()
stream = device.create_stream()
source = 'extern "C" __global__ void twice(int* x) { x[threadIdx.x] *= 2; }'
kernel = Program(source, "c++").compile("cubin").get_kernel("twice")
ready.wait(1, stream=stream)
launch(stream, LaunchConfig(grid=1, block=4), kernel, buffer)
answered.signal(1, stream=stream)
stream.sync()
"""


def test_another_process_works_on_the_same_memory(device, stream, shared):
    ready, answered = holdfast.Semaphore(), holdfast.Semaphore()
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE)
    child.stdin.write(pickle.dumps((shared, ready, answered)))
    child.stdin.close()
    shared.copy_from(np.arange(10, 14, dtype=np.int32), stream=stream)
    ready.signal(1, stream=stream)
    answered.wait(1, stream=stream)
    assert read(shared, stream) == [20, 22, 24, 26]
    assert child.wait(timeout=60) == 0


NAMES = (f"test-{number}" for number in itertools.count())


@pytest.fixture
def name(session):
    unique = f"{next(NAMES)}-{os.getpid()}"
    yield unique
    try:
        collections.delete(unique)
    except CUDAError:
        pass


def test_a_collection_is_committed_and_opened(device, stream, other, name):
    arrays = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array(7, np.int64),
        "empty": np.empty((0, 4), np.uint8),
    }
    assert collections.commit(name, arrays, {"format": "np"}) == 1
    with collections.open(name, device=other.device(0)) as opened:
        assert opened.version == 1 and opened.metadata == {"format": "np"}
        assert sorted(opened) == ["a", "b", "empty"] and "a" in opened and len(opened) == 3
        assert opened["a"].dtype == "F32" and opened["a"].shape == (2, 3)
        for key, array in opened.tensors("numpy").items():
            assert array.dtype == arrays[key].dtype and (array == arrays[key]).all()
        assert name in repr(opened)
        with pytest.raises(KeyError):
            opened["c"]
        with pytest.raises(ValueError, match="torch"):
            opened.tensors("tensorflow")
    assert [c["name"] for c in collections.list()].count(name) == 1
    assert repr(opened["a"]) == "<Array 'a', F32 [2, 3]>"
    assert len(collections.describe(name)["arrays"]) == 3


def test_a_library_of_this_process_reads_a_collection(local, device, name):
    driver = driver_of_this_process(device)
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    collections.commit(name, {"a": np.zeros(5, np.int8), "b": values, "empty": np.empty((0, 4))})
    with collections.open(name) as opened:
        mapped = opened.map_locally()
        with pytest.raises(ValueError, match="torch"):
            opened.tensors("numpy", mapped=True)
    collections.delete(name)  # what is mapped stays
    assert sorted(mapped) == ["a", "b"]
    array = mapped["b"]
    interface = array.__cuda_array_interface__
    assert interface["shape"] == array.shape == (2, 3) and interface["typestr"] == "<f4"
    assert interface["data"] == (array.ptr, True) and array.size == 24 and "F32" in repr(array)
    found = np.empty((2, 3), np.float32)
    size = ctypes.c_size_t(found.nbytes)
    assert driver.cuMemcpyDtoH_v2(found.ctypes.data_as(ctypes.c_void_p),
                                  ctypes.c_uint64(array.ptr), size) == 0  # fmt: skip
    assert (found == values).all()
    # Nobody writes to it.
    assert driver.cuMemcpyHtoD_v2(ctypes.c_uint64(array.ptr),
                                  found.ctypes.data_as(ctypes.c_void_p), size) != 0  # fmt: skip


def test_kernels_read_a_collection_and_cannot_write_it(address, name, session):
    collections.commit(name, {"x": np.array([1, 2], np.int32)})
    source = """
extern "C" __global__ void sum(const int* x, int* out) { *out = x[0] + x[1]; }
extern "C" __global__ void spoil(int* x) { x[0] = 5; }
"""
    with holdfast.connect(address) as reader:
        device = reader.device(0)
        device.set_current()
        stream = device.create_stream()
        module = Program(source, "c++").compile("cubin")
        one = LaunchConfig(grid=1, block=1)
        x = collections.open(name)["x"].buffer
        out = device.allocate(4, stream=stream)
        launch(stream, one, module.get_kernel("sum"), x, out)
        assert out.copy_to(np.empty(1, np.int32), stream=stream)[0] == 3
        launch(stream, one, module.get_kernel("spoil"), x)
        with pytest.raises(CUDAError):
            stream.sync()
    session.device(0).set_current()
    assert collections.open(name)["x"].numpy().tolist() == [1, 2]


def test_a_version_adopts_arrays_and_readers_keep_theirs(device, stream, name):
    collections.commit(name, {"a": np.zeros(4, np.float32), "b": np.ones(4, np.float32)})
    first = collections.open(name)
    with collections.create({"a": ("F32", (4,))}) as writer:
        writer["a"].fill(np.float32(2), stream=stream)
        writer.adopt(first, "b")
        assert writer.commit(name) == 2
    second = collections.open(name)
    assert second.version == 2 and second["a"].numpy().tolist() == [2] * 4
    assert second["b"].numpy().tolist() == [1] * 4
    assert first["a"].numpy().tolist() == [0] * 4
    with pytest.raises(CUDAError):
        collections.open(name, 7)


def test_one_of_many_writes(session, other, name):
    claim = collections.claim(name)
    assert claim.writes
    answers = []

    def wait():
        with collections.claim(name, device=other.device(0)) as second:
            answers.append(second.writes)

    thread = threading.Thread(target=wait)
    thread.start()
    collections.commit(name, {"x": np.zeros(1, np.uint8)})
    claim.close()
    thread.join()
    assert answers == [False]


def test_a_watch_tells_what_there_is_and_what_changes(session, name):
    collections.commit(name, {"x": np.zeros(1, np.uint8)})
    changes = collections.watch(name)
    first = next(changes)
    assert (first.kind, first.name, first.version) == ("present", name, 1)
    collections.commit(name, {"x": np.ones(1, np.uint8)})
    collections.delete(name)
    told = [next(changes) for _ in range(3)]
    assert [(c.kind, c.version) for c in told] == [("committed", 2), ("retired", 1), ("deleted", 2)]
    assert {c.owner for c in told} == {first.owner} != {""}
    changes.close()


def test_who_may_open_is_configured(session, name):
    collections.commit(name, {"x": np.zeros(1, np.uint8)})
    collections.configure(name, everybody=True, keep=2, until_unreferenced=True, pin=[0])
    info = collections.describe(name)["collection"]
    assert info["keep"] == 2 and info["visibility"]["everybody"] and info["until_unreferenced"]
    assert info["versions"][0]["pinned"]
    with pytest.raises(CUDAError, match="pinned"):
        collections.delete(name)
    collections.configure(name, unpin=[1])
    assert not collections.describe(name)["collection"]["versions"][0]["pinned"]


def test_a_collection_sleeps_and_wakes(device, name):
    values = {"a": np.arange(6, dtype=np.float32), "b": np.ones(3, np.int32)}
    collections.commit(name, values)
    opened = collections.open(name)
    buffer = opened["a"].buffer
    opened.sleep()
    with pytest.raises(CUDAError, match="sleeps"):
        opened["a"].numpy()
    assert opened.wake() == [] and opened["a"].buffer is buffer
    assert opened["a"].numpy().tolist() == values["a"].tolist()
    opened.sleep()
    collections.commit(name, {**values, "b": np.full(3, 7, np.int32)})
    with pytest.raises(CUDAError, match="no version 1"):
        opened.wake()
    assert opened.wake(0) == [] and opened.version == 2
    assert opened["b"].numpy().tolist() == [7] * 3
    opened.sleep()
    collections.commit(name, {"a": np.zeros(9, np.float32)})
    assert opened.wake(0) == ["a", "b"]
    assert [*opened] == ["a"] and opened["a"].numpy().tolist() == [0] * 9
    opened.close()


def test_what_is_mapped_here_sleeps_and_wakes_at_its_address(local, device, name):
    driver = driver_of_this_process(device)
    collections.commit(name, {"a": np.arange(4, dtype=np.int32)})
    opened = collections.open(name)
    mapped = opened.map_locally()["a"]
    pointer = mapped.ptr
    readers = collections.describe(name)["collection"]["versions"][0]["readers"]
    assert f"pid {os.getpid()}" in readers
    opened.sleep()
    assert not collections.describe(name)["collection"]["versions"][0].get("readers")
    collections.commit(name, {"a": np.arange(4, 8, dtype=np.int32)})
    assert opened.wake(0) == [] and mapped.ptr == pointer
    found = np.empty(4, np.int32)
    assert driver.cuMemcpyDtoH_v2(found.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(pointer),
                                  ctypes.c_size_t(found.nbytes)) == 0  # fmt: skip
    assert found.tolist() == [4, 5, 6, 7]
    opened.close()


def test_this_process_sees_a_semaphore(local, device, stream):
    driver = driver_of_this_process(device)
    semaphore = holdfast.Semaphore(5, device=device)
    view = semaphore.map_locally()
    semaphore.signal(9, stream=stream)
    stream.sync()
    value = ctypes.c_uint64()
    assert driver.cuMemcpyDtoH_v2(ctypes.byref(value), ctypes.c_uint64(view.ptr),
                                  ctypes.c_size_t(8)) == 0  # fmt: skip
    assert value.value == 9 and view.readonly and view.size == 8


def test_an_export_is_bound_to_a_tenant(device, stream, other, shared):
    foreign = shared.export(tenant="nobody")
    device = other.device(0)
    with pytest.raises(CUDAError, match="tenant nobody"):
        Buffer.from_ipc_descriptor(
            device.memory_resource, foreign, stream=device.create_stream()
        )


def entry(first, last, shape, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, last]}


@pytest.mark.parametrize(
    "header, data, why",
    [
        ({"a": entry(0, 8, [2]), "b": entry(4, 8, [1])}, 8, "'b' begins at byte 4.*an overlap"),
        ({"a": entry(0, 4, [1]), "b": entry(8, 12, [1])}, 12, "'b' begins at byte 8.*a gap"),
        ({"a": entry(0, 4, [1])}, 3, "'a' ends at byte 4 of the data, which has 3"),
        ({"a": entry(0, 4, [1])}, 5, "last tensor ends at byte 4 of the data, which has 5"),
        ({"a": entry(0, 4, [2**40, 2**40])}, 4, "'a': its shape has more bytes"),
        ({"a": entry(0, 4, [-1])}, 4, "'a': its shape is no list"),
        ({"a": entry(0, 4, [True])}, 4, "'a': its shape is no list"),
        ({"a": entry(0, 4, [1] * 33)}, 4, "'a': it has 33 dimensions"),
        ({"a": entry(0, 4, [1], "F33")}, 4, "'a': its dtype is 'F33'"),
        ({"a": entry(2**70, 2**70 + 4, [1])}, 4, "'a': its data_offsets"),
        ({"a": 3}, 0, "'a': its entry is no object"),
        ({"__metadata__": {"a": 1}}, 0, "__metadata__"),
        ([], 0, "no object"),
    ],
)
def test_a_safetensors_header_that_lies_is_refused(device, tmp_path, name, header, data, why):
    path = safetensors(tmp_path / "model.safetensors", header, bytes(data))
    with pytest.raises(ValueError, match=why):
        collections.load_safetensors(path, name)


def test_a_safetensors_file_of_too_many_tensors_is_refused(device, tmp_path, name):
    path = tmp_path / "model.safetensors"
    one = '"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    text = ("{" + ",".join(one % i for i in range(1_000_001)) + "}").encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(ValueError, match="1000001 tensors; limit: 1000000"):
        collections.load_safetensors(str(path), name)
    path.write_bytes((100_000_001).to_bytes(8, "little"))
    with pytest.raises(ValueError, match="limit: 100000000"):
        collections.load_safetensors(str(path), name)


def safetensors(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return str(path)


def test_a_safetensors_file_is_loaded(device, tmp_path, name, capfd):
    a = np.arange(4, dtype=np.float16)
    header = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8]},
        "b": {"dtype": "BF16", "shape": [1], "data_offsets": [8, 10]},
    }
    path = safetensors(tmp_path / "m.safetensors", header, a.tobytes() + b"\x80\x3f")
    assert collections.load_safetensors(path, name) == 1
    opened = collections.open(name)
    assert opened.metadata == {"format": "pt"}
    assert (opened["a"].numpy() == a.reshape(2, 2)).all()
    assert opened["b"].dtype == "BF16"
    assert capfd.readouterr().err == ""  # no terminal, no progress


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 80]},
        {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]},
        {"dtype": "F99", "shape": [2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]},
        {"dtype": "F32"},
        7,
    ],
)
def test_a_wrong_safetensors_file_is_refused(device, tmp_path, name, entry):
    path = safetensors(tmp_path / "m.safetensors", {"x": entry}, bytes(8))
    with pytest.raises(ValueError, match="not a .safetensors file: tensor 'x'"):
        collections.load_safetensors(path, name)
    (tmp_path / "short").write_bytes(b"abc")
    with pytest.raises(ValueError, match="3 bytes"):
        collections.load_safetensors(str(tmp_path / "short"), name)


def cli(command, address, name, *arguments):
    """`holdfast collection COMMAND`."""
    line = [os.environ["HOLDFAST_CLI"], "collection", command, f"--address={address}", name]
    return subprocess.run([*line, *map(str, arguments)], capture_output=True, text=True)


def load(address, name, *paths):
    return cli("load", address, name, *paths)


def assert_loaded(address, name, arrays, *paths):
    loaded = load(address, name, *paths)
    assert loaded.returncode == 0, loaded.stderr
    with collections.open(name) as opened:
        found = opened.tensors("numpy")
        assert sorted(found) == sorted(arrays)
        for key, array in arrays.items():
            assert found[key].dtype == array.dtype and found[key].shape == array.shape, key
            assert (found[key] == array).all(), key


ARRAYS = {
    "layer.0/weight": np.arange(300_000, dtype=np.float32).reshape(300, 1000),
    "columns": np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)),
    "scalar": np.array(2.5),
    "empty": np.empty((0, 3), np.uint8),
    "flags": np.array([True, False]),
    "waves": np.array([1 + 2j], np.complex64),
    "gr\u00f6\u00dfe": np.array([7], np.uint64),
}


def test_strided_arrays_are_saved_in_order_and_compared(address, device, name, tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS)
    assert_loaded(address, name, ARRAYS, tmp_path / "a.npz")
    saved = tmp_path / "saved.safetensors"
    done = cli("save", address, name, saved)
    assert done.returncode == 0, done.stderr
    # The device has Fortran's order, the file C's.
    for path in (tmp_path / "a.npz", saved):
        done = cli("verify", address, name, path)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{len(ARRAYS)} arrays are as in the files\n"
    collections.delete(name)
    assert collections.load_safetensors(str(saved), name) == 1
    found = collections.open(name)
    assert found["columns"].strides is None
    assert (found["columns"].numpy() == ARRAYS["columns"]).all()
    other = {**ARRAYS, "columns": ARRAYS["columns"] * 2, "scalar": np.array(1, np.int32)}
    del other["flags"]
    np.savez(tmp_path / "b.npz", **other, more=np.zeros(1))
    done = cli("verify", address, name, tmp_path / "b.npz")
    assert done.returncode != 0
    assert done.stdout.splitlines() == [
        "columns: other bytes, from byte 2 on",
        "flags: not in the files",
        "more: not in the collection",
        "scalar: of another type: F64[], in the file I32[]",
    ]


def test_what_cannot_be_committed_is_refused_before_it_is_loaded(address, device, name, tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors(path, {"__metadata__": {"x": "y" * (2 << 20)}}, b"")
    done = load(address, name, path)
    assert done.returncode != 0 and "limit: 1048576" in done.stderr
    np.save(tmp_path / "a.npy", np.zeros(3))
    done = load(address, "no name", tmp_path / "a.npy")
    assert done.returncode != 0 and "no name of a collection" in done.stderr


def test_files_of_numpy_are_loaded(address, device, name, tmp_path):
    np.savez(tmp_path / "stored.npz", **ARRAYS)
    np.savez_compressed(tmp_path / "deflated.npz", **{f"z/{k}": v for k, v in ARRAYS.items()})
    np.save(tmp_path / "one.more.npy", ARRAYS["columns"])
    both = {**ARRAYS, **{f"z/{k}": v for k, v in ARRAYS.items()}, "one.more": ARRAYS["columns"]}
    paths = [tmp_path / file for file in ("stored.npz", "deflated.npz", "one.more.npy")]
    assert_loaded(address, name, both, *paths)
    with collections.open(name) as opened:
        assert opened["columns"].strides == (1, 2, 6) and opened["empty"].strides is None
    twice = load(address, name, paths[0], paths[0])
    assert twice.returncode == 1 and "is there already" in twice.stderr


def test_versions_of_npy_are_loaded(address, device, name, tmp_path):
    array = np.arange(6, dtype=np.uint16).reshape(2, 3)
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(tmp_path / f"v{version[0]}.npy", "wb") as file:
            np.lib.format.write_array(file, array, version=version)
    paths = [tmp_path / f"v{number}.npy" for number in (1, 2, 3)]
    assert_loaded(address, name, {"v1": array, "v2": array, "v3": array}, *paths)


def npy(path, header, data=b"", version=1):
    text = header.encode()
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + length + text + data)


@pytest.mark.parametrize(
    "header, says",
    [
        ("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "Python objects"),
        ("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "big-endian"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "f32[3] has 12 bytes"),
        ("{'descr': '<f8', 'fortran_order': True, 'shape': (4294967296, 536870912)}", "64 bits"),
        (f"{{'descr': '<f4', 'fortran_order': True, 'shape': ({'1, ' * 33})}}", "limit: 32"),
        ("{'descr': '<f4', 'fortran_order': False}", "lacks"),
        ("{'descr': '\x1b[2J', 'fortran_order': False, 'shape': ()}", "\\x1b[2J"),
    ],
)
def test_a_wrong_npy_file_is_refused_by_name(address, device, name, tmp_path, header, says):
    npy(tmp_path / "wrong.npy", header, b"abcd")
    (tmp_path / "inner.npy").write_bytes((tmp_path / "wrong.npy").read_bytes())
    with zipfile.ZipFile(tmp_path / "wrong.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "inner.npy", "inner.npy")
    for file, place in (("wrong.npy", ""), ("wrong.npz", 'entry "inner.npy"')):
        refused = load(address, name, tmp_path / file)
        assert refused.returncode == 1 and says in refused.stderr, refused.stderr
        assert f"{tmp_path / file}: {place}" in refused.stderr


def test_files_that_are_no_arrays_are_refused(address, device, name, tmp_path):
    np.savez(tmp_path / "objects.npz", x=np.array([None]))
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "v4.npy").write_bytes(b"\x93NUMPY\x04\x00\x00\x00\x00\x00")
    (tmp_path / "long.npy").write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff")
    (tmp_path / "text.npz").write_text("no archive, but longer than the shortest one")
    with zipfile.ZipFile(tmp_path / "readme.npz", "w") as archive:
        archive.writestr("README", "no array")
    for file, says in (
        ("objects.npz", "Python objects"),
        ("text.npy", "wrong magic"),
        ("v4.npy", "version 4"),
        ("long.npy", "4294967295 bytes; limit: 65535"),
        ("text.npz", "no end record"),
        ("readme.npz", "not that of a .npy file"),
    ):
        refused = load(address, name, tmp_path / file)
        assert refused.returncode == 1 and f"{tmp_path / file}: " in refused.stderr
        assert says in refused.stderr, refused.stderr
    assert name not in [collection["name"] for collection in collections.list()]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_that_is_damaged_makes_no_version(address, device, name, tmp_path, save):
    path = tmp_path / "m.npz"
    save(path, x=np.arange(1000, dtype=np.int64))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    refused = load(address, name, path)
    assert refused.returncode == 1 and f'{path}: entry "x.npy": ' in refused.stderr
    assert name not in [collection["name"] for collection in collections.list()]


def test_a_million_entries_are_refused(address, device, name, tmp_path):
    path = tmp_path / "many.npz"
    end = 1_000_000 * 46
    count = (1_000_000).to_bytes(8, "little")
    record = b"PK\x06\x06" + (44).to_bytes(8, "little") + bytes(12) + count + count
    record += end.to_bytes(8, "little") + bytes(8)
    locator = b"PK\x06\x07" + bytes(4) + end.to_bytes(8, "little") + bytes(4)
    path.write_bytes(bytes(end) + record + locator + b"PK\x05\x06" + bytes(18))
    refused = load(address, name, path)
    assert refused.returncode == 1
    assert f"{path}: 1000000 entries; limit: 100000" in refused.stderr
