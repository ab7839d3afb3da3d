# SPDX-License-Identifier: Apache-2.0
from holdfast import _native, _sharing
from holdfast._errors import CUDAError, SessionLostError
from holdfast.core._closable import Closable
from holdfast.core._options import Options


class EventOptions(Options):
    """Options of an event.

    Fields:
        timing_enabled (False): elapsed time can be asked for.
        blocking_sync (False): the executor sleeps, rather than spins, while it waits.
        ipc_enabled (False): other processes can wait for it: ``Event.ipc_descriptor``. Such an
            event is made by ``Stream.record(options=...)`` and recorded once, has no timing, and
            takes 2 MiB of the device; graphs cannot use it.
    """

    _fields = {"timing_enabled": False, "blocking_sync": False, "ipc_enabled": False}
    _aliases = {
        "enable_timing": "timing_enabled",
        "busy_waited_sync": "blocking_sync",
        "support_ipc": "ipc_enabled",
    }


class Event(_native.Event, Closable):
    """A mark in a stream; made by ``Stream.record`` or ``Device.create_event``.

    ``end - start`` is the time between two recordings in milliseconds.
    """

    def __new__(cls, *args, **kwargs):
        raise RuntimeError(
            "Event objects cannot be instantiated directly. "
            "Please use Stream APIs (record) or Device.create_event."
        )

    @classmethod
    def _make(cls, device, options):
        if options.ipc_enabled and options.timing_enabled:
            raise TypeError("IPC-enabled events cannot use timing.")
        self = cls._empty(device, options)
        self._create(
            device._session,
            device._ordinal,
            options.timing_enabled,
            options.blocking_sync,
            options.ipc_enabled,
        )
        return self

    @classmethod
    def _empty(cls, device, options):
        self = _native.Event.__new__(cls)
        self._device = device
        self._options = options
        self._recorded = False
        self._is_imported = False
        self._came_with = None
        return self

    @classmethod
    def from_ipc_descriptor(cls, ipc_descriptor, *, device=None):
        """The event of another process, for ``Stream.wait``. Only its maker records it; when that
        one's session has ended, nothing waits for it any more.

        Args:
            ipc_descriptor: ``Event.ipc_descriptor`` or ``Event.export`` of the other process.
            device: that waits for it; None: device 0 of the descriptor's daemon.

        Raises:
            CUDAError: the token was redeemed as often as it may be, has expired or was revoked.
        """
        if not isinstance(ipc_descriptor, _sharing.IPCEventDescriptor):
            raise TypeError(
                f"an IPCEventDescriptor is wanted, not {type(ipc_descriptor).__name__}; "
                "a process outside Holdfast maps a Semaphore instead of CUDA's own event"
            )
        if device is None:
            device = _sharing.device_at(ipc_descriptor.address)
        self = cls._empty(device, EventOptions(ipc_enabled=True))
        self._import(device._session, device._ordinal, ipc_descriptor.token)
        self._is_imported = True
        self._came_with = ipc_descriptor
        return self

    def export(self, *, lifetime=60.0, imports=1, session_id=""):
        """A descriptor for other processes, which may wait for the event.

        Args:
            lifetime: seconds that the token is good for, at most 24 hours.
            imports: how often it may be redeemed.
            session_id: the session that may redeem it, "s-7"; default: any of the daemon.
        """
        token = self._export(session_id, lifetime, imports)
        return _sharing.IPCEventDescriptor(self._device._session.address, token)

    @property
    def ipc_descriptor(self):
        """What ``from_ipc_descriptor`` takes in any other process, for an hour; of an event of
        another process, what it came with."""
        if self._came_with is not None:
            return self._came_with
        if not self.is_ipc_enabled:
            raise RuntimeError("Event is not IPC-enabled")
        return _sharing.kept(
            self, lambda lifetime, imports: self.export(lifetime=lifetime, imports=imports)
        )

    def get_ipc_descriptor(self):
        """``ipc_descriptor``, as cuda.core had it before 1.0."""
        return self.ipc_descriptor

    def __reduce__(self):
        return _unpickle, (self.ipc_descriptor, self.is_blocking_sync)

    def sync(self):
        """Waits until the last recording is reached, and raises what has failed before it."""
        self._sync()

    async def sync_async(self):
        """``sync`` for asyncio: other tasks run meanwhile."""
        from holdfast._async import run_async

        await run_async(self.sync)

    @property
    def is_done(self):
        """Whether the last recording was reached. Asks the daemon."""
        return self._is_done()

    def __sub__(self, other):
        if not isinstance(other, Event):
            return NotImplemented
        if not (self.is_timing_enabled and other.is_timing_enabled):
            raise RuntimeError(
                "Both Events must be created with timing enabled in order to subtract them; "
                "use EventOptions(timing_enabled=True) when creating both events."
            )
        if not (self._recorded and other._recorded):
            raise RuntimeError(
                "Both Events must be recorded before they can be subtracted; "
                "use Stream.record() to record both events to a stream."
            )
        try:
            return self._elapsed_since(other)
        except CUDAError as error:
            if error.code != "UNAVAILABLE" or isinstance(error, SessionLostError):
                raise
            raise RuntimeError(
                "One or both events have not completed; use Event.sync(), Stream.sync(), or "
                "Device.sync() to wait for the events to complete before subtracting them."
            ) from error

    def __rsub__(self, other):
        return NotImplemented

    def __isub__(self, other):
        return NotImplemented

    @property
    def is_timing_enabled(self):
        self._check_open()
        return bool(self._options.timing_enabled)

    @property
    def is_blocking_sync(self):
        self._check_open()
        return bool(self._options.blocking_sync)

    @property
    def is_ipc_enabled(self):
        self._check_open()
        return bool(self._options.ipc_enabled)

    # Before 1.0.
    is_timing_disabled = property(lambda self: not self.is_timing_enabled)
    is_sync_busy_waited = property(lambda self: self.is_blocking_sync)

    @property
    def device(self):
        """None: the event is another process's."""
        self._check_open()
        return None if self._is_imported else self._device

    @property
    def context(self):
        self._check_open()
        return None if self._is_imported else self._device.context

    @property
    def handle(self):
        """The event's name in its session, 0 when it is closed; not a CUevent."""
        return 0 if self._closed else self._handle

    def close(self):
        """Destroys the event. It may be closed again."""
        self._close()

    def __repr__(self):
        return "<Event, closed>" if self._closed else f"<Event handle={self._handle:#x}>"


def _unpickle(descriptor, blocking_sync):
    event = Event.from_ipc_descriptor(descriptor)
    event._options.blocking_sync = blocking_sync
    return event
