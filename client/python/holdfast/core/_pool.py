# SPDX-License-Identifier: Apache-2.0
"""What memory resources that are pools in CUDA count, limit and share. The memory is the session's
all the same: a pool is a bound on a part of it."""

import json
import operator
import os
import threading
import uuid
import weakref

from holdfast import _sharing
from holdfast._errors import CUDAError, invalid_argument
from holdfast.core._closable import Closable

_registry = weakref.WeakValueDictionary()


class IPCAllocationHandle:
    """A memory resource of another process, for ``from_allocation_handle``; can be pickled.

    It has no memory: each Buffer's descriptor has its own rights. ``handle`` is a descriptor of
    this process, for ``multiprocessing.reduction.send_handle``: of a file in memory that names the
    resource.
    """

    _descriptor = None

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            "IPCAllocationHandle objects cannot be instantiated directly. "
            "Please use MemoryResource APIs (allocation_handle)."
        )

    @classmethod
    def _make(cls, address, uuid):
        self = object.__new__(cls)
        self._address = address
        self._uuid = uuid
        return self

    uuid = property(lambda self: self._uuid, doc="The resource's.")

    @classmethod
    def _of(cls, handle):
        """The handle, or that of a descriptor that another process has sent."""
        if isinstance(handle, cls):
            return handle
        if not hasattr(handle, "__index__"):
            raise TypeError(
                f"an IPCAllocationHandle or a descriptor expected, got {type(handle).__name__}"
            )
        try:
            named = json.loads(os.pread(operator.index(handle), 4096, 0))
            return cls._make(str(named["address"]), uuid.UUID(named["uuid"]))
        except (OSError, OverflowError, ValueError, TypeError, KeyError):
            raise invalid_argument(
                f"descriptor {operator.index(handle)} is not that of an IPCAllocationHandle"
            ) from None

    @property
    def handle(self):
        if self._descriptor is None:
            self._descriptor = os.memfd_create("holdfast-pool")
            named = {"address": self._address, "uuid": str(self._uuid)}
            os.write(self._descriptor, json.dumps(named).encode())
        return self._descriptor

    def __int__(self):
        return self.handle

    def close(self):
        """Closes the descriptor, if there is one."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    __del__ = close

    def __eq__(self, other):
        return isinstance(other, IPCAllocationHandle) and self._uuid == other._uuid

    def __hash__(self):
        return hash(self._uuid)

    def __reduce__(self):
        return IPCAllocationHandle._make, (self._address, self._uuid)

    def __repr__(self):
        return f"<IPCAllocationHandle {self._uuid} of {self._address}>"


class Account:
    """The bytes that a pool's open Buffers have, and the most that they had."""

    def __init__(self, limit):
        self._limit = limit
        self._lock = threading.Lock()
        self.used = 0
        self.high = 0

    def charge(self, size):
        """A charge for ``size`` bytes, which ends with the object.

        Raises:
            CUDAError: CUDA_ERROR_OUT_OF_MEMORY, they are over the limit.
        """
        with self._lock:
            if self._limit and self.used + size > self._limit:
                error = CUDAError(
                    f"CUDA_ERROR_OUT_OF_MEMORY: {size} bytes are over the resource's max_size: "
                    f"{self.used} of {self._limit} bytes are in use"
                )
                error.code, error.result = "RESOURCE_EXHAUSTED", 2
                error.result_name = "CUDA_ERROR_OUT_OF_MEMORY"
                raise error
            self.used += size
            self.high = max(self.high, self.used)
        return Charge(self, size)

    def release(self, size):
        with self._lock:
            self.used -= size


class GraphAccount(Account):
    """The bytes of Buffers that graphs allocate. Those of closed ones count until ``trim``."""

    def __init__(self):
        super().__init__(limit=0)
        self._closed = 0

    def release(self, size):
        with self._lock:
            self._closed += size

    def trim(self):
        with self._lock:
            self.used -= self._closed
            self._closed = 0

    def forget_high(self):
        with self._lock:
            self.high = self.used


class Charge:
    """Bytes that are in use until it ends."""

    __slots__ = ("_account", "_size")

    def __init__(self, account, size):
        self._account = account
        self._size = size

    def __del__(self):
        self._account.release(self._size)


class MemoryPoolAttributes:
    """What a pool has and does. Memory goes back to the session at once, so what is reserved is what
    is used."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            f"{type(self).__name__} objects cannot be instantiated directly. "
            "Please use MemoryResource APIs (attributes)."
        )

    @classmethod
    def _of(cls, account):
        self = object.__new__(cls)
        self._account = account
        return self

    reuse_follow_event_dependencies = property(lambda self: True)
    reuse_allow_opportunistic = property(lambda self: True)
    reuse_allow_internal_dependencies = property(lambda self: True)
    release_threshold = property(lambda self: 0)
    used_mem_current = property(lambda self: self._account.used, doc="Bytes of open Buffers.")
    used_mem_high = property(lambda self: self._account.high, doc="The most that it was.")
    reserved_mem_current = used_mem_current
    reserved_mem_high = used_mem_high

    _NAMES = (
        "release_threshold", "reserved_mem_current", "reserved_mem_high",
        "reuse_allow_internal_dependencies", "reuse_allow_opportunistic",
        "reuse_follow_event_dependencies", "used_mem_current", "used_mem_high",
    )  # fmt: skip

    def __repr__(self):
        values = ", ".join(f"{name}={getattr(self, name)}" for name in self._NAMES)
        return f"{type(self).__name__}({values})"


class GraphMemoryResourceAttributes(MemoryPoolAttributes):
    """What graphs of a device have allocated: Buffers that are open, or were closed since the last
    ``trim``. The highs can be set to 0."""

    _NAMES = ("reserved_mem_current", "reserved_mem_high", "used_mem_current", "used_mem_high")

    def __setattr__(self, name, value):
        if name.endswith("_current"):
            raise AttributeError(f"attribute '{name}' of '{type(self).__name__}' is not writable")
        if name.endswith("_high"):
            if value != 0:
                raise AttributeError(f"Attribute '{name}' may only be set to zero (got {value}).")
            self._account.forget_high()
            return
        super().__setattr__(name, value)


class Pool(Closable):
    """A bound on memory, with a count of it, and a name by which other processes know it."""

    _closed = False

    @classmethod
    def _public_name(cls):
        return cls.__name__

    def _start(self, max_size, ipc_enabled, is_handle_owned):
        size = operator.index(max_size)
        if size < 0:
            raise ValueError(f"max_size must be >= 0, got {size}")
        self._account = Account(size)
        self._is_ipc_enabled = bool(ipc_enabled)
        self._is_handle_owned = is_handle_owned
        self._is_mapped = False
        self._uuid = uuid.uuid4() if ipc_enabled else None
        if ipc_enabled:
            _registry[self._uuid] = self

    def _check_allocates(self):
        self._check_open()
        if self._is_mapped:
            raise TypeError("Cannot allocate from a mapped IPC-enabled memory resource")

    attributes = property(lambda self: MemoryPoolAttributes._of(self._account))
    is_ipc_enabled = property(lambda self: self._is_ipc_enabled)
    is_handle_owned = property(lambda self: self._is_handle_owned)
    is_mapped = property(
        lambda self: self._is_mapped, doc="Whether the resource is another process's."
    )
    uuid = property(lambda self: self._uuid, doc="By which processes know it; None without IPC.")

    @property
    def handle(self):
        """A number of the resource, the same in each process that has it; not a CUmemoryPool."""
        return id(self) if self._uuid is None else self._uuid.int & (1 << 63) - 1

    @property
    def allocation_handle(self):
        """What another process makes the resource of: ``from_allocation_handle``."""
        if not self._is_ipc_enabled:
            raise RuntimeError("Memory resource is not IPC-enabled")
        return IPCAllocationHandle._make(self._session_of_pool().address, self._uuid)

    def get_allocation_handle(self):
        """``allocation_handle``, as cuda.core had it before 1.0."""
        return self.allocation_handle

    def register(self, uuid):
        """Makes this the resource of the uuid in this process, unless there is one; returns it."""
        registered = _registry.setdefault(uuid, self)
        if self._uuid is None:
            self._uuid = uuid
        return registered

    @classmethod
    def _known(cls, handle):
        """The resource that this process has imported for the handle already, or None.

        Raises:
            TypeError: it is of another class.
        """
        known = _registry.get(getattr(handle, "uuid", None))
        if known is not None and not isinstance(known, cls):
            raise TypeError(f"{handle!r} is that of a {type(known).__name__}, not {cls.__name__}")
        return known if known is not None and known._is_mapped else None

    @staticmethod
    def from_registry(uuid):
        """The resource that this process has for the uuid.

        Raises:
            RuntimeError: it has none.
        """
        try:
            return _registry[uuid]
        except KeyError:
            raise RuntimeError(f"Memory resource {uuid} was not found") from None

    def _become_mapped(self, uuid):
        """``uuid`` None: another process has sent the descriptor alone."""
        _registry.pop(self._uuid, None)
        self._uuid = uuid
        self._is_mapped = True
        if uuid is not None:
            _registry.setdefault(uuid, self)
        return self

    def deallocate(self, ptr, size, stream=None):
        """Closes the Buffer that begins at ``ptr``, in the order of ``stream``; None: in that of
        its allocation.

        Raises:
            ValueError: no open Buffer of this process does.
        """
        place = getattr(ptr, "_kernel_argument_", None)
        if place is None:
            from holdfast.core._device import Device

            device = Device() if stream is None else stream.device
            place = device._session._place(operator.index(ptr))
        if place is None or place[1] != 0 or place[0].size != size:
            raise ValueError(f"no open Buffer of {size} bytes begins at {ptr!r}")
        place[0].close(stream)

    def close(self):
        """Ends allocation from a resource that the program made; its Buffers stay. Has no effect on
        a device's default resource, whose memory is the session's."""
        self._closed = self._closed or self._is_handle_owned


def device_of(handle, device_id):
    """The device, in a session with the daemon of the handle."""
    session = getattr(device_id, "_session", None)
    if session is not None and session.address == handle._address:
        return device_id
    return _sharing.device_at(handle._address, operator.index(device_id))
