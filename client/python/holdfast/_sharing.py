# SPDX-License-Identifier: Apache-2.0
"""Things that pass between processes: tokens for buffers, events and semaphores.

A token is a secret of 16 bytes, which any client of the daemon may redeem. Descriptors hold one and
the daemon's address, and can be pickled: they are what goes through a queue or a pipe.
"""

import time

from holdfast import _native, _session

# Descriptors that are made by pickling are redeemed as often as processes unpickle them.
_PICKLED_LIFETIME = 3600.0
_PICKLED_IMPORTS = 65536


class Descriptor:
    """A buffer, event or semaphore of another process: the daemon's address, a token, and, of a buffer,
    its size. Keep it as secret as what it names."""

    __slots__ = ("address", "token", "size")

    def __new__(cls, *args):
        if not args:
            raise RuntimeError(
                f"{cls.__name__} objects cannot be instantiated directly. Please use the property "
                "ipc_descriptor, or export."
            )
        return object.__new__(cls)

    def __init__(self, address, token, size=0):
        self.address = address
        self.token = token
        self.size = size

    def __reduce__(self):
        return type(self), (self.address, self.token, self.size)

    def __eq__(self, other):
        return type(self) is type(other) and self.token == other.token

    def __hash__(self):
        return hash(self.token)

    def __repr__(self):
        return f"<{type(self).__name__} of {self.address}>"


class IPCBufferDescriptor(Descriptor):
    """A buffer of another process, for ``Buffer.from_ipc_descriptor``. ``pool``: the uuid of its
    memory resource; None: it is not told."""

    __slots__ = ("pool",)

    def __init__(self, address, token, size=0, pool=None):
        super().__init__(address, token, size)
        self.pool = pool

    def __reduce__(self):
        return type(self), (self.address, self.token, self.size, self.pool)


class IPCPinnedDescriptor(IPCBufferDescriptor):
    """A Buffer of pinned memory, by its place in the memory of its resource, which the process that
    imports it has got by the resource's ``allocation_handle``."""

    __slots__ = ("offset",)

    def __init__(self, offset, size, pool):
        super().__init__(None, (pool, offset, size), size, pool)
        self.offset = offset

    def __reduce__(self):
        return type(self), (self.offset, self.size, self.pool)

    def __repr__(self):
        return f"<IPCPinnedDescriptor of {self.size} bytes at {self.offset} of {self.pool}>"


class IPCEventDescriptor(Descriptor):
    """An event of another process, for ``Event.from_ipc_descriptor``."""

    __slots__ = ()


class SemaphoreDescriptor(Descriptor):
    """A semaphore of another process, for ``Semaphore.from_descriptor``."""

    __slots__ = ()


def export(resource, writable, offset, size, session_id, lifetime, imports, tenant=""):
    return resource._export(writable, offset, size, session_id, lifetime, imports, tenant)


def kept(resource, make):
    """The descriptor for every process that gets the resource by pickle, which
    ``make(lifetime, imports)`` makes: the same one while half of its lifetime is left, since a
    session may have so many tokens only."""
    made, descriptor = resource.__dict__.get("_pickled", (0.0, None))
    now = time.monotonic()
    if descriptor is None or now - made > _PICKLED_LIFETIME / 2:
        descriptor = make(_PICKLED_LIFETIME, _PICKLED_IMPORTS)
        resource._pickled = now, descriptor
    return descriptor


def pickled(resource, cls, address, *details):
    """``kept`` of a buffer or a semaphore, whose descriptor has ``details`` behind its token."""
    return kept(
        resource,
        lambda lifetime, imports: cls(
            address, resource._export(True, 0, 0, "", lifetime, imports, ""), *details
        ),
    )


def device_at(address, device_id=0):
    """A device of this process's session with the daemon at ``address``: the current device's
    session if it is there, else the first that is, else what ``session_at`` opens."""
    current = _session.current_device()
    if current is not None and current._session.address == address:
        return current._session.device(device_id)
    return _session.session_at(address).device(device_id)


class Semaphore(_native.Semaphore):
    """A counter of 64 bits in device memory, which streams of several processes signal and wait
    for. Nothing passes through the host::

        producer:  launch(stream, ...); semaphore.signal(1, stream=stream)
        consumer:  semaphore.wait(1, stream=stream); launch(stream, ...)

    The producer's writes before the signal are visible to the consumer's stream behind the wait.
    Values only rise. A pickled semaphore is the same one in the other process.

    Args:
        initial_value: what it begins with.
        device: default: the current one.
    """

    def __new__(cls, initial_value=0, *, device=None):
        from holdfast.core import Device

        self = _native.Semaphore.__new__(cls)
        self._device = Device() if device is None else device
        self._create(self._device._session, self._device._ordinal, initial_value)
        return self

    def __init__(self, initial_value=0, *, device=None):
        pass

    @classmethod
    def from_descriptor(cls, descriptor, *, device=None):
        """The semaphore of another process.

        Raises:
            CUDAError: the token was redeemed as often as it may be, has expired or was revoked.
        """
        self = _native.Semaphore.__new__(cls)
        self._device = device_at(descriptor.address) if device is None else device
        self._import(self._device._session, self._device._ordinal, descriptor.token)
        return self

    def export(self, *, writable=False, lifetime=60.0, imports=1, session_id="", tenant=""):
        """A descriptor for other processes.

        Args:
            writable: they may signal; else only wait and read.
            lifetime: seconds that the token is good for, at most 24 hours.
            imports: how often it may be redeemed.
            session_id: the session that may redeem it, "s-7"; default: any of the daemon.
            tenant: the tenant whose sessions may redeem it, "team-a"; default: any.
        """
        token = export(self, writable, 0, 0, session_id, lifetime, imports, tenant)
        return SemaphoreDescriptor(self._device._session.address, token)

    def map_locally(self, *, writable=False, device_id=None):
        """The 64 bits in this process, which has CUDA: a LocalView, whose ``ptr`` is what
        cuStreamWaitValue64 and, writable, cuStreamWriteValue64 of its own streams take. Waits.

        Args:
            writable: this process may signal; else only wait.
            device_id: the device as this process counts; default: as the daemon does.
        """
        from holdfast.core._local_view import LocalView

        ordinal = self._device._ordinal
        info = self._device._session._info(ordinal)
        driver = info["driver_path"] if info["is_software"] else None
        device_id = ordinal if device_id is None else device_id
        mapping = _native.map_semaphore(self, bool(writable), driver, device_id)
        return LocalView(mapping, 8, device_id, not writable)

    def signal(self, value, *, stream=None):
        """Sets the value when the stream has come here; without a stream, now."""
        from holdfast.core._stream import check_stream

        self._signal(value, None if stream is None else check_stream(stream))

    def wait(self, value, *, stream):
        """Holds the stream until the value is at least this one. Does not wait itself."""
        from holdfast.core._stream import check_stream

        self._wait(value, check_stream(stream))

    @property
    def value(self):
        """The value at this moment. Asks the daemon."""
        return self._value()

    device = property(lambda self: self._device)

    @property
    def handle(self):
        """The semaphore's name in its session."""
        return self._handle

    def close(self):
        """Lets go of it; other sessions keep theirs."""
        self._close()

    def __reduce__(self):
        address = self._device._session.address
        return Semaphore.from_descriptor, (pickled(self, SemaphoreDescriptor, address),)

    def __repr__(self):
        state = ", closed" if self._closed else f" {self._handle:#x} of {self._device!r}"
        return f"<holdfast.Semaphore{state}>"
