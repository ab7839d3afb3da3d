# SPDX-License-Identifier: Apache-2.0
"""Pinned memory: memory of this process that the executor has page-locked too, so that copies are
direct and kernels use it in place; also memory that several processes have."""

import fcntl
import operator
import os
import weakref

from holdfast import _native, _session, _sharing
from holdfast._errors import CUDAError
from holdfast.core._buffer import Buffer
from holdfast.core._memory import MemoryResource, to_size
from holdfast.core._options import Options, as_options
from holdfast.core._pool import IPCAllocationHandle, Pool
from holdfast.core._stream import check_stream

# Of a resource for several processes that has no max_size.
_SHARED_BYTES = 64 << 20
# F_ADD_SEALS and F_GET_SEALS of <linux/fcntl.h>; F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_SEAL: no
# process takes pages from those that have mapped them.
_ADD_SEALS, _GET_SEALS, _KEEPS_ITS_SIZE = 1033, 1034, 2 | 4 | 1


class PinnedMemoryResourceOptions(Options):
    """Options of pinned memory.

    Fields:
        ipc_enabled (False): other processes of this machine can have the memory, too.
        max_size (0): bytes that Buffers of the resource have together, at most; 0: no limit but
            the session's, and 64 MiB with ``ipc_enabled``.
        numa_id (None): the memory's node, where it is to be told; the executor's kernel places it.
    """

    _fields = {"ipc_enabled": False, "max_size": 0, "numa_id": None}


class _SharedMemory:
    """The memory of a resource for several processes: one file in memory, of which each session
    that uses it has an arena."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self._arenas = weakref.WeakKeyDictionary()

    @classmethod
    def of_size(cls, size):
        flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
        self = cls(os.memfd_create("holdfast-pinned", flags))
        page = os.sysconf("SC_PAGE_SIZE")
        os.ftruncate(self.descriptor, -(-size // page) * page)
        fcntl.fcntl(self.descriptor, _ADD_SEALS, _KEEPS_ITS_SIZE)
        return self

    def arena_of(self, session):
        arena = self._arenas.get(session)
        if arena is None:
            size = os.fstat(self.descriptor).st_size
            arena = self._arenas[session] = _native.make_arena(session, size, self.descriptor)
        return arena

    def __del__(self):
        os.close(self.descriptor)


class _PinnedHandle(IPCAllocationHandle):
    """A resource of pinned memory; its descriptor is that of the memory itself, which keeps it."""

    @classmethod
    def _make(cls, memory, uuid):
        self = super()._make(None, uuid)
        self._memory = memory
        return self

    @property
    def handle(self):
        return self._memory.descriptor

    def close(self):
        """Nothing: the memory closes its descriptor."""

    def __reduce__(self):
        from multiprocessing.context import get_spawning_popen
        from multiprocessing.reduction import DupFd

        # A child that is being started takes each descriptor once, when this handle may be gone.
        descriptor, child = self.handle, get_spawning_popen()
        if child is not None:
            descriptor = os.dup(descriptor)
            weakref.finalize(child, os.close, descriptor)
        return _received, (DupFd(descriptor), self._uuid)


def _received(descriptor, uuid):
    return _PinnedHandle._make(_SharedMemory(descriptor.detach()), uuid)


def is_pinned(handle):
    """Whether an ``alloc_handle`` is that of pinned memory: its descriptor is memory's, by its
    seals."""
    if isinstance(handle, IPCAllocationHandle) or not hasattr(handle, "__index__"):
        return isinstance(handle, _PinnedHandle)
    try:
        return fcntl.fcntl(operator.index(handle), _GET_SEALS) == _KEEPS_ITS_SIZE
    except OSError:
        return False


def _known_or_received(cls, handle):
    """What a pickled resource is: that of the uuid in this process, or a mapped one."""
    try:
        return Pool.from_registry(handle.uuid)
    except RuntimeError:
        return cls.from_allocation_handle(handle)


class PinnedMemoryResource(Pool, MemoryResource):
    """Memory of this process that the session's executor has page-locked: copied directly, and
    used by kernels in place. ``sync`` before this process reads what a kernel wrote.

    If the daemon is on another machine, it is ordinary memory: copies wait, and kernels cannot use
    it.
    """

    def __init__(self, options=None):
        is_own = options is not None
        options = as_options(PinnedMemoryResourceOptions, options)
        unknown = 0 if options.ipc_enabled else -1
        self._numa_id = unknown if options.numa_id is None else options.numa_id
        if options.numa_id is not None and options.numa_id < 0:
            raise ValueError(f"numa_id must be >= 0, got {options.numa_id}")
        self._start(options.max_size, options.ipc_enabled, is_own)
        self._shared = None
        if options.ipc_enabled:
            self._shared = _SharedMemory.of_size(options.max_size or _SHARED_BYTES)

    @classmethod
    def from_allocation_handle(cls, alloc_handle):
        """The resource of another process, by its ``allocation_handle`` or the descriptor that it
        has sent: for ``Buffer.from_ipc_descriptor``. It allocates nothing."""
        known = cls._known(alloc_handle)
        if known is not None:
            return known
        if not is_pinned(alloc_handle):
            raise TypeError(f"{alloc_handle!r} is not that of pinned memory")
        self = cls.__new__(cls)
        self._numa_id = -1
        self._start(0, True, False)
        if isinstance(alloc_handle, _PinnedHandle):
            self._shared = alloc_handle._memory
            return self._become_mapped(alloc_handle.uuid)
        self._shared = _SharedMemory(os.dup(operator.index(alloc_handle)))
        return self._become_mapped(None)

    @property
    def allocation_handle(self):
        """What another process of this machine makes the resource of."""
        if not self._is_ipc_enabled:
            raise RuntimeError("Memory resource is not IPC-enabled")
        return _PinnedHandle._make(self._shared, self._uuid)

    def __reduce__(self):
        return _known_or_received, (type(self), self.allocation_handle)

    def _descriptor_of(self, span, size):
        return _sharing.IPCPinnedDescriptor(span.offset, size, self._uuid)

    def _import(self, descriptor, stream):
        """The Buffer of another process, or of this one, that the descriptor names."""
        if self._uuid not in (None, descriptor.pool) or self._shared is None:
            raise CUDAError(
                f"CUDA_ERROR_INVALID_VALUE: the Buffer is of the memory resource "
                f"{descriptor.pool}, not of {self._uuid}"
            )
        session = _session_for(stream)
        span = self._shared.arena_of(session).span_at(descriptor.offset, max(descriptor.size, 1))
        buffer = Buffer._pinned(session, descriptor.size, self, stream, span)
        buffer._is_mapped = True
        buffer._came_with = descriptor
        return buffer

    def _memory_for(self, session, size):
        if self._shared is None:
            return session._take_pinned(size)
        return self._shared.arena_of(session).allocate(size)

    def allocate(self, size, stream=None):
        """A Buffer of ``size`` bytes, with what was there before. ``stream``: any of the session;
        None: the current device's session."""
        size = to_size(size)
        self._check_allocates()
        stream = None if stream is None else check_stream(stream)
        session = _session_for(stream)
        charge = self._account.charge(size)
        memory = self._memory_for(session, max(size, 1))
        buffer = Buffer._pinned(session, size, self, stream, memory)
        buffer._charge = charge
        return buffer

    device_id = property(lambda self: -1)
    numa_id = property(lambda self: self._numa_id)
    is_device_accessible = property(lambda self: True)
    is_host_accessible = property(lambda self: True)

    def __repr__(self):
        return f"<holdfast.core.{type(self).__name__}>"


def _session_for(stream):
    """The stream's session; without a stream, the current device's."""
    if stream is not None:
        return stream.device._session
    device = _session.current_device()
    return _session.default_session() if device is None else device._session


class LegacyPinnedMemoryResource(PinnedMemoryResource):
    """The same memory."""

    def __init__(self):
        super().__init__()
