# SPDX-License-Identifier: Apache-2.0
"""Memory resources of holdfast.core: pools with a bound, pinned memory, a user's own, graphs'."""

import gc
import os
import pickle
import sys
import uuid

import numpy as np
import pytest
from holdfast import core
from holdfast._sharing import IPCPinnedDescriptor
from holdfast.core import (
    Buffer,
    CUDAError,
    DeviceMemoryResource,
    GraphMemoryResource,
    MemoryResource,
    PinnedMemoryResource,
    utils,
)


@pytest.mark.parametrize(
    "make", [lambda d, o: DeviceMemoryResource(d, o), lambda d, o: PinnedMemoryResource(o)]
)
def test_a_resource_bounds_and_counts_its_buffers(device, stream, make):
    resource = make(device, {"max_size": 4096})
    assert resource.is_handle_owned
    first = resource.allocate(1024, stream=stream)
    second = resource.allocate(3072, stream)
    assert resource.attributes.used_mem_current == resource.attributes.used_mem_high == 4096
    with pytest.raises(CUDAError, match="CUDA_ERROR_OUT_OF_MEMORY.*4096 of 4096") as caught:
        resource.allocate(1, stream=stream)
    assert caught.value.result_name == "CUDA_ERROR_OUT_OF_MEMORY"
    first.close()
    first.close()
    del second
    assert resource.attributes.used_mem_current == 0
    assert resource.attributes.reserved_mem_high == 4096
    assert "used_mem_current=0, used_mem_high=4096)" in repr(resource.attributes)
    resource.allocate(4096, stream=stream).close()
    with pytest.raises(ValueError, match="max_size must be >= 0"):
        make(device, {"max_size": -1})


def test_what_a_pool_has_besides_memory(device):
    attributes = device.memory_resource.attributes
    for name in ("opportunistic", "internal_dependencies"):
        assert getattr(attributes, f"reuse_allow_{name}") is True
    assert not device.memory_resource.is_handle_owned and device.memory_resource.uuid is None
    with pytest.raises(RuntimeError, match="not IPC-enabled"):
        device.memory_resource.allocation_handle  # noqa: B018
    with pytest.raises(RuntimeError, match="cannot be instantiated directly"):
        core.MemoryPoolAttributes()
    assert PinnedMemoryResource({"numa_id": 0}).numa_id == 0
    assert PinnedMemoryResource().numa_id == -1
    with pytest.raises(ValueError, match="numa_id must be >= 0, got -2"):
        PinnedMemoryResource({"numa_id": -2})


def test_a_resource_is_known_to_other_processes_by_its_handle(device, stream):
    resource = DeviceMemoryResource(device, {"ipc_enabled": True})
    handle = pickle.loads(pickle.dumps(resource.allocation_handle))
    assert handle == resource.get_allocation_handle() and handle.uuid == resource.uuid
    assert pickle.loads(pickle.dumps(resource)) is resource
    assert DeviceMemoryResource.from_registry(handle.uuid) is resource
    mapped = DeviceMemoryResource.from_allocation_handle(device, handle)
    assert mapped.is_mapped and mapped.uuid == resource.uuid and mapped.device_id == 0
    with pytest.raises(TypeError, match="mapped IPC-enabled"):
        mapped.allocate(4, stream=stream)
    buffer = resource.allocate(64, stream=stream)
    buffer.fill(3, stream=stream)
    stream.sync()
    taken = Buffer.from_ipc_descriptor(mapped, buffer.get_ipc_descriptor(), stream)
    assert taken.memory_resource is mapped and taken.is_mapped
    assert (taken.copy_to(np.empty(64, np.uint8), stream=stream) == 3).all()
    with pytest.raises(RuntimeError, match="was not found"):
        DeviceMemoryResource.from_registry(uuid.uuid4())
    other = DeviceMemoryResource(device, {"ipc_enabled": True})
    with pytest.raises(CUDAError, match="CUDA_ERROR_INVALID_VALUE.*memory resource"):
        Buffer.from_ipc_descriptor(other, buffer.ipc_descriptor, stream)


def test_a_resource_passes_by_the_descriptor_of_its_handle(device, stream):
    resource = DeviceMemoryResource(device, {"ipc_enabled": True})
    handle = resource.allocation_handle
    mapped = DeviceMemoryResource.from_allocation_handle(device, os.dup(int(handle)))
    assert mapped.uuid == resource.uuid and mapped.handle == resource.handle
    handle.close()
    with open("/dev/null") as file:
        with pytest.raises(CUDAError, match="is not that of an IPCAllocationHandle"):
            DeviceMemoryResource.from_allocation_handle(device, file.fileno())
    with pytest.raises(TypeError, match="a descriptor expected, got str"):
        DeviceMemoryResource.from_allocation_handle(device, "7")


def test_pinned_memory_is_had_by_other_processes(device, stream):
    resource = PinnedMemoryResource({"ipc_enabled": True, "max_size": 1 << 20})
    assert resource.is_ipc_enabled and not resource.is_mapped
    if device.session.address.startswith("tcp:"):
        with pytest.raises(CUDAError, match="shares no memory with it"):
            resource.allocate(64, stream=stream)
        return
    first, buffer = (resource.allocate(64, stream=stream) for _ in range(2))
    buffer.copy_from(np.arange(64, dtype=np.uint8), stream=stream)
    stream.sync()
    mapped = PinnedMemoryResource.from_allocation_handle(int(resource.allocation_handle))
    taken = Buffer.from_ipc_descriptor(mapped, buffer.ipc_descriptor, stream)
    assert taken.is_mapped and taken.memory_resource is mapped
    assert taken.copy_to(bytearray(64), stream=stream) == bytes(range(64))
    taken.fill(9, stream=stream)
    stream.sync()
    assert buffer.copy_to(bytearray(64), stream=stream) == b"\x09" * 64
    with pytest.raises(TypeError, match="mapped IPC-enabled"):
        mapped.allocate(4, stream=stream)
    with pytest.raises(CUDAError, match="CUDA_ERROR_INVALID_VALUE"):
        PinnedMemoryResource({"ipc_enabled": True})._import(first.ipc_descriptor, stream)
    with pytest.raises(CUDAError, match="bytes at"):
        Buffer.from_ipc_descriptor(mapped, IPCPinnedDescriptor(1 << 20, 64, None), stream)
    with pytest.raises(TypeError, match="not that of pinned memory"):
        PinnedMemoryResource.from_allocation_handle(0)


def test_a_resource_closes_the_buffer_that_begins_at_an_address(device, stream):
    resource = DeviceMemoryResource(device)
    buffer = resource.allocate(64, stream=stream)
    with pytest.raises(ValueError, match="no open Buffer of 32 bytes"):
        resource.deallocate(buffer.handle, 32, stream=stream)
    resource.deallocate(buffer.handle, 64, stream)
    with pytest.raises(RuntimeError, match="closed"):
        buffer.fill(0, stream=stream)


class Arrays(MemoryResource):
    """A user's resource, of ordinary memory."""

    def __init__(self):
        self.held = {}
        self.freed = []

    def allocate(self, size, *, stream=None):
        array = np.zeros(size, np.uint8)
        self.held[array.ctypes.data] = array
        return Buffer.from_handle(array.ctypes.data, size, mr=self)

    def deallocate(self, ptr, size, *, stream=None):
        del self.held[ptr]
        self.freed.append((size, stream))

    is_device_accessible = False
    is_host_accessible = True
    device_id = -1


def test_buffers_of_a_users_resource_end_by_its_deallocate(device, stream):
    resource = Arrays()
    buffer = resource.allocate(64)
    assert buffer.memory_resource is resource and buffer.size == 64
    assert buffer.is_host_accessible and not buffer.is_device_accessible
    buffer.close(stream)
    buffer.close(stream)
    assert resource.freed == [(64, stream)] and not resource.held
    buffer = resource.allocate(32)
    del buffer
    gc.collect()
    assert resource.freed[1] == (32, device.default_stream) and not resource.held


def test_a_buffer_ends_in_the_order_of_its_deallocation_stream(device, stream):
    resource = Arrays()
    later = device.create_stream()
    buffer = resource.allocate(16)
    buffer.set_deallocation_stream(stream)
    buffer.set_deallocation_stream(later)
    buffer.close()
    buffer = resource.allocate(32)
    buffer.set_deallocation_stream(later)
    buffer.close(stream)
    buffer = resource.allocate(64)
    buffer.set_deallocation_stream(later)
    del buffer
    gc.collect()
    assert resource.freed == [(16, later), (32, stream), (64, later)]
    # Memory of the device, whose first stream ends before it.
    first = device.create_stream()
    buffer = device.allocate(64, stream=first)
    buffer.fill(1, stream=first)
    buffer.set_deallocation_stream(stream)
    first.close()
    buffer.close()
    stream.sync()
    with pytest.raises(TypeError):
        device.allocate(8, stream=stream).set_deallocation_stream(5)


def test_a_device_allocates_from_a_users_resource(device, stream):
    class Counting(MemoryResource):
        sizes = []

        def allocate(self, size, *, stream):
            self.sizes.append(size)
            return inner.allocate(size, stream=stream)

    inner = device.memory_resource
    device.memory_resource = Counting()
    device.allocate(64, stream=stream).fill(1, stream=stream)
    assert Counting.sizes == [64]


def test_a_deallocate_that_fails_is_warned_of(device):
    class Failing(Arrays):
        def deallocate(self, ptr, size, *, stream=None):
            raise RuntimeError("no such pointer")

    buffer = Failing().allocate(16)
    with pytest.warns(core.CUDAWarning, match="16 bytes failed: no such pointer"):
        del buffer
        gc.collect()


def test_memory_that_only_its_resource_knows_is_given_back_to_it(device):
    resource = Arrays()
    resource.held[64] = None
    buffer = Buffer.from_handle(64, 1024, mr=resource)
    buffer.close()
    assert resource.freed[0][0] == 1024


def test_memory_that_nobody_may_access_has_no_dlpack_device(device):
    class Hidden(MemoryResource):
        is_device_accessible = is_host_accessible = False
        device_id = 0
        bytes = np.zeros(16, np.uint8)

        def allocate(self, size, *, stream=None):
            return Buffer.from_handle(self.bytes.ctypes.data, size, mr=self)

        def deallocate(self, ptr, size, *, stream=None):
            pass

    buffer = Hidden().allocate(16)
    with pytest.raises(BufferError, match="neither device-accessible nor host-accessible"):
        buffer.__dlpack_device__()
    with pytest.raises(BufferError, match="neither device-accessible nor host-accessible"):
        buffer.__dlpack__()
    buffer.close()


def test_ordinary_memory_is_copied_as_a_buffer(device, stream):
    array = np.arange(64, dtype=np.uint8)
    count = sys.getrefcount(array)
    host = Buffer.from_handle(array.ctypes.data, 64, owner=array)
    assert host.owner is array and host.device_id == -1 and not host.is_device_accessible
    x = device.allocate(64, stream)
    x.copy_from(host, stream=stream)
    host.fill(0, stream=stream)
    assert not array.any()
    x.copy_to(host, stream=stream)
    stream.sync()
    assert (array == np.arange(64)).all()
    assert (np.frombuffer(host.memory, np.uint8) == array).all()
    host.close()
    assert sys.getrefcount(array) == count
    with pytest.raises(ValueError, match="both"):
        Buffer.from_handle(array.ctypes.data, 64, mr=Arrays(), owner=array)
    with pytest.raises(TypeError, match="a MemoryResource expected"):
        Buffer.from_handle(array.ctypes.data, 64, mr=object())


def test_a_view_is_made_of_an_object_as_before_05(device):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    view = utils.StridedMemoryView(array, stream_ptr=-1)
    assert view.shape == (2, 3) and view.dtype == np.float32
    assert view.ptr == array.ctypes.data


def test_memory_of_graphs_is_counted_until_it_is_trimmed(device, stream):
    resource = GraphMemoryResource(device)
    assert GraphMemoryResource(device) is resource
    builder = stream.create_graph_builder().begin_building()
    x = resource.allocate(1024, stream=builder)
    empty = resource.allocate(0, stream=builder)
    graph = builder.end_building().complete()
    graph.launch(stream)
    assert resource.attributes.used_mem_current == resource.attributes.used_mem_high == 1024
    assert empty.size == 0
    x.close(stream)
    assert resource.attributes.used_mem_current == 1024
    resource.trim()
    assert resource.attributes.used_mem_current == 0
    assert resource.attributes.used_mem_high == 1024
    resource.attributes.used_mem_high = 0
    assert "used_mem_current=0, used_mem_high=0)" in repr(resource.attributes)
    with pytest.raises(AttributeError, match="may only be set to zero"):
        resource.attributes.reserved_mem_high = 1
    with pytest.raises(AttributeError, match="is not writable"):
        resource.attributes.used_mem_current = 0
