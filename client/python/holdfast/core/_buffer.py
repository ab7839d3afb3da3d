# SPDX-License-Identifier: Apache-2.0
"""Buffers: memory of devices, and pinned memory of this process.

A Buffer of a device lies in the daemon's executor; a kernel takes it by its handle, whose number
is an address there and none of this process. Pinned memory lies here, in an arena that the executor
has mapped too, so that NumPy sees it (``numpy.from_dlpack``, ``numpy.frombuffer``), the device copies
from and to it, and kernels use it in place.
"""

from holdfast import _native, _sharing
from holdfast._errors import CUDAError, out_of_memory
from holdfast._progress import Progress
from holdfast.core._address import Address
from holdfast.core._bytes import array_bytes, fill_pattern, pinned_place
from holdfast.core._bytes_alone import BytesAlone
from holdfast.core._closable import Closable
from holdfast.core._dlpack import CPU, CUDA_HOST, make_capsule
from holdfast.core._local_view import LocalView
from holdfast.core._options import not_served
from holdfast.core._pool import Pool
from holdfast.core._stream import check_stream, keep_recorded


# Bytes: what takes long enough to be watched, and how much of it goes at once.
_LARGE = 256 << 20
_PIECE = 64 << 20

# Of a Buffer, and of an offset.
MAX_SIZE = 2**64 - 1

_NOT_HERE = (
    "the memory of a device is in the daemon: Buffer.copy_to(array, stream=stream) copies it here; "
    "for no copy, allocate with DeviceMemoryResourceOptions(ipc_enabled=True)"
)

_NOT_SHARED = (
    "Memory resource is not IPC-enabled: allocate the Buffer with a DeviceMemoryResource or a "
    "PinnedMemoryResource whose options have ipc_enabled=True"
)


class Buffer(BytesAlone, _native.Buffer, Closable):
    """An allocation; made by a memory resource, ``Device.allocate`` or ``ObjectCode.get_global``.

    Freed when it is closed or collected, in the order of the stream of its allocation.
    """

    def __new__(cls, *args, **kwargs):
        raise RuntimeError(
            "Buffer objects cannot be instantiated directly. Please use MemoryResource APIs."
        )

    @classmethod
    def _empty(cls, session, device_id, size, resource, stream):
        self = _native.Buffer.__new__(cls)
        self._session = session
        self._device_id = device_id
        self._length = size
        self._resource = resource
        self._stream = stream
        self._memory = None
        self._is_mapped = False
        # The descriptor that memory of another process came with.
        self._came_with = None
        # Whether this process can map it; the view that it got, if it did.
        self._can_be_mapped = False
        self._view = None
        self._owner = None
        # Whether a node of a graph allocates it, which names it by its handle.
        self._is_of_graph = False
        # Its bytes in the account of its pool; what frees memory that somebody else allocated.
        self._charge = None
        self._release = None
        # (Buffer, offset), if it is a part of one.
        self._part_of = None
        # The Heir that graphs keep, by a weak reference: see _held.py.
        self._heir_reference = None
        return self

    @property
    def _heir(self):
        return None if self._heir_reference is None else self._heir_reference()

    @classmethod
    def _shared(cls, device, size, resource, stream):
        self = cls._empty(device._session, device._ordinal, size, resource, stream)
        self._allocate_shared(device._session, device._ordinal, max(size, 1))
        self._can_be_mapped = True
        return self

    @classmethod
    def _on_device(cls, device, size, resource, stream):
        if size > device.total_memory:  # known here: not told by a later call
            raise out_of_memory(size, device)
        self = cls._empty(device._session, device._ordinal, size, resource, stream)
        # An empty buffer has an address in CUDA, too.
        self._allocate(device._session, device._ordinal, max(size, 1), stream)
        return self

    @classmethod
    def _recorded(cls, device, size, resource, stream):
        """Memory that a node of the graph allocates which the stream is recorded as."""
        self = cls._empty(device._session, device._ordinal, size, resource, stream)
        self._allocate(device._session, device._ordinal, max(size, 1), stream)
        self._note_of_graph()
        keep_recorded(stream, self)
        return self

    @classmethod
    def _of_definition(cls, session, device_id, size):
        """Memory that a node will allocate: a name, until the graph is made."""
        self = cls._empty(session, device_id, size, None, None)
        self._of_graph(session, size)
        return self._note_of_graph()

    def _note_of_graph(self):
        self._is_of_graph = True
        self._session._unmade.add(self)
        return self

    @classmethod
    def _pinned(cls, session, size, resource, stream, memory):
        """``memory``: a span of an arena, or ordinary memory."""
        self = cls._empty(session, -1, size, resource, stream)
        self._memory = memory
        session._addressed[_native.address_of(memory)] = self
        return self

    @classmethod
    def from_handle(cls, ptr, size, mr=None, owner=None, *, stream=None):
        """Memory that is there already, without a copy.

        It is a part of a Buffer of the session, if the address is one of its kernels'; memory of
        this process, which streams copy from and to; or memory of this process's own CUDA, of
        PyTorch, CuPy or cuda.core, which the daemon's kernels use in place. For that the call
        waits, and neither side knows of the other's streams: each waits for its own before the
        other goes on, and before the Buffer is closed.

        Args:
            ptr: the address: ``buffer.handle``, ``array.ctypes.data``, ``tensor.data_ptr()``, the
                last of a device that this process and the daemon count alike.
            size: bytes, all in one allocation, the whole of which the session then reaches.
            mr: a resource of the user's, whose ``deallocate(ptr, size, stream=stream)`` is called
                when the Buffer is closed or collected; or the resource whose device uses the
                memory. None: the current device.
            owner: kept alive until the Buffer is closed. It is ``owner`` who frees the memory.

        Raises:
            ValueError: a resource that frees the memory, and an owner.
            CUDAError: the address is none of this process's, nor of the session; the daemon is on
                another machine; or the memory is none that processes can share (of
                cuMemAllocAsync, managed).
        """
        from holdfast.core._given_memory import buffer_at

        return buffer_at(cls, ptr, size, mr, owner, stream)

    @classmethod
    def _imported(cls, device, ptr, size, mr, owner, stream):
        """Memory of this process's own CUDA."""
        session, ordinal = device._session, device._ordinal
        self = cls._empty(session, ordinal, size, mr, stream)
        info = session._info(ordinal)
        driver = info["driver_path"] if info["is_software"] else None
        self._import_local(session, ordinal, int(ptr), size, driver, ordinal)
        self._is_mapped = True
        self._owner = owner
        return self

    @classmethod
    def for_ipc_handle(cls, size, *, device=None):
        """Memory with an ``ipc_handle``, for libraries that know CUDA's older IPC alone. It is lost
        with a fault of the session; a resource with ``ipc_enabled`` makes Buffers that are not."""
        from holdfast.core._device import Device

        device = Device() if device is None else device
        self = cls._empty(device._session, device._ordinal, size, None, None)
        self._allocate_ipc(device._session, device._ordinal, size)
        return self

    @property
    def ipc_handle(self):
        """The 64 bytes that ``cuIpcOpenMemHandle`` takes in another process of the daemon's
        machine, and the offset of this Buffer in what they open.

        Raises:
            CUDAError: the Buffer is not of ``for_ipc_handle``.
        """
        return self._ipc_handle()

    @classmethod
    def from_pool(cls, fd, pointer_data, size, *, device=None, owner=None):
        """An allocation in a memory pool of this process, without a copy: of cuda.core with
        ``ipc_enabled``. Lost with a fault of the session.

        Args:
            fd: of ``cuMemPoolExportToShareableHandle``; cuda.core: ``int(mr.allocation_handle)``.
            pointer_data: 64 bytes of ``cuMemPoolExportPointer``; cuda.core:
                ``buffer.ipc_descriptor.payload``.
            owner: kept alive until the Buffer is closed. It is ``owner`` who frees the memory.
        """
        from holdfast.core._device import Device

        device = Device() if device is None else device
        self = cls._empty(device._session, device._ordinal, size, None, None)
        self._import_pool(device._session, device._ordinal, fd, bytes(pointer_data), size)
        self._is_mapped = True
        self._owner = owner
        return self

    @classmethod
    def from_ipc_descriptor(cls, mr, ipc_descriptor, stream=None):
        """Memory of another process, whose ``ipc_descriptor`` or ``export`` this is. It lives as
        long as the last Buffer of it, whatever becomes of its maker.

        Args:
            mr: the resource, whose device uses it; None: device 0 of the descriptor's daemon.

        Raises:
            CUDAError: the token was redeemed as often as it may be, has expired or was revoked.
        """
        if not isinstance(ipc_descriptor, _sharing.IPCBufferDescriptor):
            raise TypeError(
                f"Argument 'ipc_descriptor' has incorrect type: {type(ipc_descriptor).__name__}"
            )
        pool = ipc_descriptor.pool
        if isinstance(ipc_descriptor, _sharing.IPCPinnedDescriptor):
            resource = Pool.from_registry(pool) if mr is None else mr
            return resource._import(ipc_descriptor, stream)
        if pool is not None and getattr(mr, "uuid", None) not in (None, pool):
            raise CUDAError(
                f"CUDA_ERROR_INVALID_VALUE: the Buffer is of the memory resource {pool}, "
                f"not of {mr.uuid}"
            )
        if mr is None:
            device = _sharing.device_at(ipc_descriptor.address)
        else:
            device = mr._device
        self = cls._empty(device._session, device._ordinal, ipc_descriptor.size, mr, stream)
        self._import(device._session, device._ordinal, ipc_descriptor.token)
        self._is_mapped = True
        self._came_with = ipc_descriptor
        return self

    @property
    def is_closed(self):
        return self._memory is None and self._closed

    def _first_address(self):
        """The number of the first byte's address, for kernels of the session; of pinned memory,
        for this process."""
        self._check_open()
        if self._memory is None:
            address = self._address()
        else:
            number = getattr(self._memory, "_number", None)
            address = _native.address_of(self._memory) if number is None else number
        known = self._session._addressed.get(address)
        if known is None or known.is_closed:
            self._session._addressed[address] = self
        return address

    @property
    def size(self):
        """Bytes; 0 when the Buffer is closed."""
        return 0 if self.is_closed else self._length

    @property
    def handle(self):
        """The address, for kernels: ``launch(..., buffer.handle + 64)``, and as a number:
        ``int(buffer.handle)``. 0: the Buffer is closed, or pinned memory of 0 bytes."""
        is_nothing = self.is_closed or self._length == 0 and self._memory is not None
        return 0 if is_nothing else Address(self, 0)

    @property
    def device_id(self):
        """The device's ordinal; -1 for pinned memory."""
        self._check_open()
        return self._device_id

    @property
    def memory_resource(self):
        """What allocated it; None: nothing that is known here, or the Buffer is closed."""
        return None if self.is_closed else self._resource

    owner = property(lambda self: self._owner)
    is_managed = property(lambda self: False)

    @property
    def is_mapped(self):
        """Whether it is memory of another process."""
        return self._is_mapped

    @property
    def is_device_accessible(self):
        """Whether kernels can use it: all but ordinary memory of this process, which pinned memory
        is, too, where the daemon is on another machine."""
        self._check_open()
        if self._release is not None:
            return self._resource.is_device_accessible
        return self._device_id >= 0 or isinstance(self._memory, _native.Span)

    @property
    def is_host_accessible(self):
        self._check_open()
        if self._release is not None:
            return self._resource.is_host_accessible
        return self._device_id < 0

    def export(self, *, writable=False, lifetime=60.0, imports=1, session_id="", tenant="",
               offset=0, size=0):  # fmt: skip
        """A descriptor with which other processes import the memory. It can be pickled.

        Importers may or may not see writes that streams have not done by then: ``sync`` first, or
        share a Semaphore.

        Args:
            writable: their kernels may write; else one that does faults.
            lifetime: seconds that the token is good for, at most 24 hours.
            imports: how often it may be redeemed.
            session_id: the session that may redeem it, "s-7"; default: any of the daemon.
            tenant: the tenant whose sessions may redeem it, "team-a"; default: any.
            offset, size: the bytes that their Buffer has; size 0: to the end. The range protects
                nothing: their kernels can access the whole of this Buffer. Bytes that importers
                must not read go to another Buffer.

        Raises:
            CUDAError: the Buffer is not of a resource with ``ipc_enabled``.
        """
        if getattr(self._resource, "is_ipc_enabled", None) is False and self._came_with is None:
            error = CUDAError(_NOT_SHARED)
            error.code = "FAILED_PRECONDITION"
            raise error
        token = _sharing.export(
            self, writable, offset, size, session_id, lifetime, imports, tenant
        )
        return _sharing.IPCBufferDescriptor(
            self._session.address, token, size or self._length - offset
        )

    @property
    def ipc_descriptor(self):
        """A descriptor for any process, good for an hour, with which it may write, too. Of memory
        of another process, the one that it came with."""
        self._check_open()
        if self._came_with is not None:
            return self._came_with
        if self._memory is not None and getattr(self._resource, "is_ipc_enabled", False):
            return self._resource._descriptor_of(self._memory, self._length)
        if not self._can_be_mapped:
            raise RuntimeError(_NOT_SHARED)
        pool = getattr(self._resource, "uuid", None)
        return _sharing.pickled(
            self, _sharing.IPCBufferDescriptor, self._session.address, self._length, pool
        )

    def get_ipc_descriptor(self):
        """``ipc_descriptor``, as cuda.core had it before 1.0."""
        return self.ipc_descriptor

    def __reduce__(self):
        # A queue pickles later, and its Buffer may be closed by then: what came is passed on.
        descriptor = self.ipc_descriptor if self._came_with is None else self._came_with
        pool = self._resource if getattr(self._resource, "is_ipc_enabled", False) else None
        return _unpickled, (pool, descriptor)

    def sub(self, offset, size):
        """A part of this buffer, which ends with it."""
        offset = _native.whole_number("offset", offset, MAX_SIZE)
        size = _native.whole_number("size", size, MAX_SIZE)
        if offset + size > self._length:
            raise ValueError(f"{size} bytes at offset {offset} of a Buffer of {self._length} bytes")
        if self._memory is not None:
            raise not_served("a part of pinned memory", "buffer.handle + offset, for a kernel")
        part = Buffer._empty(self._session, self._device_id, size, self._resource, self._stream)
        part._part_of = self, offset
        part._sub(self, offset, size)
        return part

    def copy_to(self, dst=None, *, stream, options=None):
        """Copies all bytes to ``dst``, and returns it.

        ``dst`` is a Buffer of the same size; None: a new one of the same resource; or a writable
        array (NumPy), which has the bytes when the call returns. Into ``empty_pinned`` arrays and
        pinned Buffers the copy is work of the stream, as between Buffers.
        """
        stream = check_stream(stream)
        if dst is None:
            if self._resource is None:
                raise ValueError("a destination buffer must be provided (no memory resource)")
            dst = self._resource.allocate(self._length, stream=stream)
        if isinstance(dst, Buffer):
            dst.copy_from(self, stream=stream)
            return dst
        data = self._bytes_of(dst, True)
        self._check_open()
        place = pinned_place(dst)
        if self._memory is not None:
            stream.sync()
            data[:] = memoryview(self._memory)[: self._length]
        elif place is not None:
            span, offset = place
            span.from_buffer(offset, self, 0, self._length, stream)
        elif self._length > 0:
            self._download(data, 0, stream)
        return dst

    def copy_from(self, src, *, stream, options=None):
        """Copies all bytes of ``src``, a Buffer or array of the same size.

        An ordinary array may be changed again when the call returns; pinned memory only when the
        stream has done the copy.
        """
        stream = check_stream(stream)
        self._check_open()
        if isinstance(src, Buffer):
            src._check_open()
            if src is self and self._length > 0:
                raise ValueError("a Buffer cannot be copied to itself: its bytes overlap")
            if src._length != self._length:
                raise ValueError(
                    "buffer sizes mismatch between src and dst "
                    f"(sizes are: src={src._length}, dst={self._length})"
                )
            self._copy_from_buffer(src, stream)
            keep_recorded(stream, self, src, self._memory, src._memory)
            return
        data = self._bytes_of(src, False)
        place = pinned_place(src)
        if self._memory is not None:
            stream.sync()
            memoryview(self._memory)[: self._length] = data
        elif place is not None:
            span, offset = place
            span.to_buffer(offset, self, 0, self._length, stream)
        elif self._length > 0:
            self._upload_bytes(data, stream)

    def _upload_bytes(self, data, stream):
        """In one piece; a large one in several where somebody watches."""
        shown = Progress("uploading", self._length)
        if self._length < _LARGE or not shown.is_shown:
            self._upload(data, 0, stream)
            return
        with shown:
            for offset in range(0, self._length, _PIECE):
                part = data[offset : offset + _PIECE]
                self._upload(part, offset, stream)
                shown.advance(len(part))

    def _bytes_of(self, array, is_written):
        """The bytes of an array, as many as the Buffer has, as a memoryview."""
        expected = "a Buffer or an array with the buffer protocol expected"
        data = array_bytes(array, is_written, expected)
        if len(data) != self._length:
            raise ValueError(f"the array has {len(data)} bytes, the Buffer {self._length}")
        return data

    def _copy_from_buffer(self, src, stream):
        size = self._length
        if size == 0:
            return
        if not (self._is_ordinary or src._is_ordinary):
            to, source = self._copied_memory(), src._copied_memory()
            _native.place_copy(to, 0, source, 0, size, stream)
        elif self._memory is not None and src._memory is not None:
            stream.sync()
            memoryview(self._memory)[:size] = memoryview(src._memory)[:size]
        elif src._is_ordinary:
            self._upload(memoryview(src._memory)[:size], 0, stream)
        else:
            src._download(memoryview(self._memory)[:size], 0, stream)

    @property
    def _is_ordinary(self):
        """Whether it is memory of this process that the executor has not mapped."""
        return self._memory is not None and not isinstance(self._memory, _native.Span)

    def _copied_memory(self):
        """What copies and fills of streams and graphs name: the native buffer, or the span of
        pinned memory."""
        if self._is_ordinary:
            raise not_served(
                "ordinary memory of this process in a graph",
                "copy to memory of a device, or to pinned memory of a daemon on this machine",
            )
        return self if self._memory is None else self._memory

    def fill(self, value, *, stream):
        """Repeats ``value``: an int of 0 to 255, or 1, 2 or 4 bytes, over the buffer."""
        stream = check_stream(stream)
        self._check_open()
        pattern = fill_pattern(value)
        if self._length % len(pattern):
            raise ValueError(
                f"buffer size ({self._length}) must be divisible by {len(pattern)}"
            )
        if self._is_ordinary:
            stream.sync()
            view = memoryview(self._memory)[: self._length]
            view[:] = pattern * (self._length // len(pattern))
        elif self._length > 0:
            _native.place_fill(self._copied_memory(), 0, self._length, pattern, stream)
            keep_recorded(stream, self, self._memory)

    def set_deallocation_stream(self, stream):
        """Frees in the order of ``stream`` from now on; a user's resource is given it."""
        self._check_open()
        self._stream = check_stream(stream)
        if self._release is not None:
            self._release.stream = self._stream

    def close(self, stream=None):
        """Frees the memory in the order of ``stream``; by default, the allocation's.

        On a stream that is recorded, a node of the graph frees it, which has to be memory of a
        graph. The memory of a graph stays as long as the graph, and the Buffer. Memory that nodes
        of graphs use stays as long as these.

        Raises:
            RuntimeError: ``stream`` is closed; the Buffer is open as before.
        """
        where = self._stream if stream is None else check_stream(stream)
        heir = self._heir
        if heir is None:
            self._charge = None
            if self._release is not None:
                release, self._release = self._release, None
                release(stream)
        builder = None if where is None else where._builder
        if self._is_of_graph:
            if builder is not None:
                builder._record_free(self, where)
            return
        if builder is not None:
            if stream is not None and self._memory is None:
                raise ValueError("a graph frees only what a graph allocates")
            where = None
        if where is not None and where._closed:
            where = None
        if not self.is_closed:
            if heir is not None:
                heir._inherit(where)
            self._memory = None
            self._close(where)
        self._owner = None

    def map_locally(self, *, writable=True, device_id=None):
        """Maps the memory in this process, which has CUDA, too. Waits.

        Args:
            writable: kernels of this process may write; else one that does faults, which costs
                this process its CUDA context.
            device_id: the device as this process counts; default: as the daemon does.

        Raises:
            CUDAError: the Buffer is not of a resource with ``ipc_enabled``, the daemon is on
                another machine, or this process has no CUDA driver.
        """
        info = self._session._info(self._device_id)
        driver = info["driver_path"] if info["is_software"] else None
        if device_id is None:
            device_id = self._device_id
        mapping = _native.map_locally(self, bool(writable), driver, device_id)
        return LocalView(mapping, self._length, device_id, not writable)

    def _local_view(self):
        if self._view is None:
            self._view = self.map_locally()
        return self._view

    def __array__(self, *args, **kwargs):
        if self._memory is None:
            raise TypeError(
                "the bytes are in the daemon: Buffer.copy_to(array, stream=stream) copies them "
                "here; holdfast.array has arrays with a shape and a type"
            )
        raise TypeError("numpy.from_dlpack(buffer) is an array of the bytes of pinned memory")

    @property
    def __cuda_array_interface__(self):
        if not self._can_be_mapped:
            raise AttributeError("__cuda_array_interface__: " + _NOT_HERE)
        return self._local_view().__cuda_array_interface__

    def __buffer__(self, flags):
        return memoryview(self._host_memory())[: self._length]

    def _host_memory(self):
        if self._memory is None:
            raise BufferError(_NOT_HERE)
        return self._memory

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Bytes: of pinned memory, for NumPy; of a device, for libraries with CUDA, where the
        Buffer is of a resource with ``ipc_enabled``. With ``max_version=(1, 0)`` or later NumPy can
        write to it, too."""
        if self._can_be_mapped:
            return self._local_view().__dlpack__(
                max_version=max_version, dl_device=dl_device, copy=copy
            )
        memory = self._host_memory()
        return make_capsule(
            memory, _native.address_of(memory), self.__dlpack_device__(), (self._length,),
            max_version=max_version, dl_device=dl_device, copy=copy,
        )  # fmt: skip

    def __dlpack_device__(self):
        if self._can_be_mapped:
            return self._local_view().__dlpack_device__()
        if not (self.is_device_accessible or self.is_host_accessible):
            raise BufferError("buffer is neither device-accessible nor host-accessible")
        return (CUDA_HOST if isinstance(self._host_memory(), _native.Span) else CPU, 0)

    @property
    def memory(self):
        """Pinned memory as a memoryview of bytes."""
        return memoryview(self._host_memory())[: self._length]

    def _place_of_bytes(self):
        """Which bytes it is."""
        whole, first = self, 0
        while whole._part_of is not None:
            whole, offset = whole._part_of
            first += offset
        return id(whole), first, self._length

    def __eq__(self, other):
        return isinstance(other, Buffer) and self._place_of_bytes() == other._place_of_bytes()

    def __hash__(self):
        return hash(self._place_of_bytes())

    def __repr__(self):
        if self.is_closed:
            return "<Buffer, closed>"
        try:
            ptr = f"{id(self) if self._is_of_graph else self._first_address():#x}"
        except (RuntimeError, ValueError):  # CUDAErrors, too: no address, after a failure
            ptr = "unknown"
        return f"<Buffer ptr={ptr} size={self._length}>"

    def _repr_html_(self):
        from holdfast import _html

        if self.is_closed:
            return _html.card("Buffer", (("state", "closed"),))
        place = "pinned memory" if self._memory is not None else f"device {self._device_id}"
        return _html.card("Buffer", (("memory", _html.bytes_of(self._length)), ("place", place)))


def _unpickled(pool, descriptor):
    """The Buffer of another process, in the current device's session if that can have it. ``pool``:
    its resource as this process has it, or None."""
    if isinstance(descriptor, _sharing.IPCPinnedDescriptor):
        return pool._import(descriptor, None)
    buffer = Buffer.from_ipc_descriptor(None, descriptor)
    buffer._resource = pool
    return buffer
