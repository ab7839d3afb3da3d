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
