# SPDX-License-Identifier: Apache-2.0
from holdfast import _native
from holdfast._sharing import SemaphoreDescriptor, device_at, export, pickled
from holdfast.core._device import Device
from holdfast.core._local_view import LocalView
from holdfast.core._stream import check_stream


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
        ordinal = self._device._ordinal
        info = self._device._session._info(ordinal)
        driver = info["driver_path"] if info["is_software"] else None
        device_id = ordinal if device_id is None else device_id
        mapping = _native.map_semaphore(self, bool(writable), driver, device_id)
        return LocalView(mapping, 8, device_id, not writable)

    def signal(self, value, *, stream=None):
        """Sets the value when the stream has come here; without a stream, now."""
        self._signal(value, None if stream is None else check_stream(stream))

    def wait(self, value, *, stream):
        """Holds the stream until the value is at least this one. Does not wait itself."""
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
