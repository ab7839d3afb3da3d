# SPDX-License-Identifier: Apache-2.0
"""Memory resources: what allocates Buffers. Pinned memory has its own file."""

from holdfast import _native
from holdfast.core._buffer import MAX_SIZE, Buffer
from holdfast.core._options import Options, as_options
from holdfast.core._pool import (
    GraphAccount,
    GraphMemoryResourceAttributes,
    IPCAllocationHandle,
    Pool,
    device_of,
)
from holdfast.core._stream import check_not_recorded, check_stream


class MemoryResource:
    """What allocates Buffers. A user's subclass is called in this process: its ``allocate`` returns
    a ``Buffer.from_handle(ptr, size, mr=self)``, whose end calls its ``deallocate``."""

    def allocate(self, size, *, stream):
        raise TypeError("MemoryResource.allocate must be implemented by subclasses")

    def deallocate(self, ptr, size, *, stream):
        raise TypeError("MemoryResource.deallocate must be implemented by subclasses")

    def _left_out(self):
        raise TypeError(f"{type(self).__name__} has to say: it is a MemoryResource of the user's")

    device_id = property(_left_out)
    is_device_accessible = property(_left_out)
    is_host_accessible = property(_left_out)
    is_managed = property(lambda self: False)


def to_size(size):
    if getattr(size, "shape", ()):
        raise TypeError(
            f"size is a number of bytes, got {type(size).__name__}: its nbytes, or "
            "holdfast.array.asarray, which also copies the elements"
        )
    return _native.whole_number("size", size, MAX_SIZE)


class DeviceMemoryResourceOptions(Options):
    """Options of a device's memory.

    Fields:
        ipc_enabled (False): Buffers can be exported to other processes; each takes a whole number
            of 2 MiB, and an allocation is not ordered by the stream.
        max_size (0): bytes that Buffers of the resource have together, at most; 0: no limit but
            the session's.
    """

    _fields = {"ipc_enabled": False, "max_size": 0}


class DeviceMemoryResource(Pool, MemoryResource):
    """The memory of one device. The session's own limits hold for all of its resources together."""

    def __init__(self, device_id, options=None):
        from holdfast.core._device import Device

        self._device = Device(device_id)
        is_own = options is not None
        options = as_options(DeviceMemoryResourceOptions, options)
        self._start(options.max_size, options.ipc_enabled, is_own)

    @classmethod
    def _of(cls, device):
        self = cls.__new__(cls)
        self._device = device
        self._start(0, False, False)
        return self

    @classmethod
    def from_allocation_handle(cls, device_id, alloc_handle):
        """The resource of another process, by its ``allocation_handle`` or the descriptor that it
        has sent: for ``Buffer.from_ipc_descriptor``. It allocates nothing. That of pinned memory
        becomes a PinnedMemoryResource."""
        from holdfast.core._pinned import PinnedMemoryResource, is_pinned

        known = cls._known(alloc_handle)
        if known is not None:
            return known
        if is_pinned(alloc_handle):
            return PinnedMemoryResource.from_allocation_handle(alloc_handle)
        alloc_handle = IPCAllocationHandle._of(alloc_handle)
        self = cls.__new__(cls)
        self._device = device_of(alloc_handle, device_id)
        self._start(0, True, False)
        return self._become_mapped(alloc_handle.uuid)

    def __reduce__(self):
        if not self._is_ipc_enabled:
            raise RuntimeError("Memory resource is not IPC-enabled")
        return _known_or_imported, (type(self), self._device._ordinal, self.allocation_handle)

    def _session_of_pool(self):
        return self._device._session

    def allocate(self, size, stream=None):
        """A Buffer of ``size`` bytes with undefined content, in the order of ``stream``; None: of
        the device's default stream."""
        size = to_size(size)
        self._check_allocates()
        stream = self._device.default_stream if stream is None else check_stream(stream)
        check_not_recorded(stream, type(self).__name__)
        charge = self._account.charge(size)
        make = Buffer._shared if self._is_ipc_enabled else Buffer._on_device
        buffer = make(self._device, size, self, stream)
        buffer._charge = charge
        return buffer

    @property
    def peer_accessible_by(self):
        """The other devices whose kernels may use memory of this one: a set, which may be changed
        or assigned. It is one for all resources of the device in the session."""
        from holdfast.core._peers import PeerAccess

        return PeerAccess(self._device)

    @peer_accessible_by.setter
    def peer_accessible_by(self, devices):
        self.peer_accessible_by.replace(devices)

    device_id = property(lambda self: self._device._ordinal)
    is_device_accessible = property(lambda self: True)
    is_host_accessible = property(lambda self: False)

    def __repr__(self):
        return f"<holdfast.core.DeviceMemoryResource of {self._device!r}>"


def _known_or_imported(cls, ordinal, handle):
    """What a pickled resource is: that of the uuid in this process, or a mapped one."""
    try:
        return Pool.from_registry(handle.uuid)
    except RuntimeError:
        return cls.from_allocation_handle(ordinal, handle)


class GraphMemoryResource(MemoryResource):
    """Memory of a device that graphs allocate: one object a device.

    A Buffer is a node of the graph that is recorded; ``close`` on the same stream frees it there.
    Its address is the same in every launch, and it can be used after a launch, too.
    """

    def __new__(cls, device_id):
        from holdfast.core._device import Device

        device = Device(device_id)
        made = object.__new__(cls)
        made._device = device
        made._account = GraphAccount()
        return device._session._resources.setdefault((cls, device._ordinal), made)

    def allocate(self, size, stream):
        """A Buffer that a node of the graph allocates. ``stream``: a GraphBuilder that is
        building."""
        size = to_size(size)
        stream = check_stream(stream)
        if stream._builder is None:
            raise RuntimeError(
                "GraphMemoryResource cannot perform memory operations on a non-capturing stream."
            )
        buffer = Buffer._recorded(self._device, size, self, stream)
        buffer._charge = self._account.charge(size)
        return buffer

    deallocate = Pool.deallocate

    def trim(self):
        """Counts no longer what is closed. The memory itself goes back to the session with its
        graph."""
        self._account.trim()

    @property
    def attributes(self):
        return GraphMemoryResourceAttributes._of(self._account)

    device_id = property(lambda self: self._device._ordinal)
    is_device_accessible = property(lambda self: True)
    is_host_accessible = property(lambda self: False)
    is_ipc_enabled = property(lambda self: False)
    is_mapped = property(lambda self: False)

    def close(self):
        """Nothing: the memory is the graphs'."""

    def __repr__(self):
        return f"<holdfast.core.GraphMemoryResource of {self._device!r}>"
