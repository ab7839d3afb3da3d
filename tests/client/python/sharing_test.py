# SPDX-License-Identifier: Apache-2.0
"""Buffers, events and semaphores that pass between sessions and processes; collections of which
other libraries of a process map the memory."""

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import time

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
    for stream_of, event in ((there, seen), (stream, done)):
        with pytest.raises(TypeError, match="^IPC-enabled events should not be re-recorded"):
            stream_of.record(event)
    there.sync()


def test_events_that_cannot_be_shared_say_so(device, stream):
    with pytest.raises(RuntimeError, match="not IPC-enabled"):
        _ = stream.record().ipc_descriptor
    with pytest.raises(TypeError, match="^IPC-enabled events cannot use timing"):
        stream.record(options={"ipc_enabled": True, "timing_enabled": True})
    with pytest.raises(TypeError, match="^IPC-enabled events must be bound"):
        device.create_event({"ipc_enabled": True})
    with pytest.raises(TypeError, match="IPCEventDescriptor is wanted, not bytes"):
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
    with pytest.raises(BufferError, match="ambiguous"):
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
    # A process connects by itself to the daemon that it is told of alone.
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE,
        env={**os.environ, "HOLDFAST_ADDRESS": device.session.address},
    )  # fmt: skip
    child.stdin.write(pickle.dumps((shared, ready, answered)))
    child.stdin.close()
    shared.copy_from(np.arange(10, 14, dtype=np.int32), stream=stream)
    ready.signal(1, stream=stream)
    answered.wait(1, stream=stream)
    assert read(shared, stream) == [20, 22, 24, 26]
    assert child.wait(timeout=60) == 0


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


def test_what_is_mapped_here_sleeps_and_wakes_at_its_address(local, device, name):
    driver = driver_of_this_process(device)
    collections.commit(name, {"a": np.arange(4, dtype=np.int32)})
    opened = collections.open(name)
    mapped = opened.map_locally()["a"]
    pointer = mapped.ptr
    readers = collections.describe(name)["collection"]["versions"][0]["readers"]
    assert f"pid {os.getpid()}" in readers
    opened.sleep()
    # The daemon learns of it by the end of a connection.
    deadline = time.monotonic() + 60
    while collections.describe(name)["collection"]["versions"][0].get("readers"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
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
