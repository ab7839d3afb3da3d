# SPDX-License-Identifier: Apache-2.0
from holdfast import _native
from holdfast._errors import CUDAError, SessionLostError
from holdfast.core._options import Options, not_served


class EventOptions(Options):
    """Options of an event.

    Fields:
        timing_enabled (False): elapsed time can be asked for.
        blocking_sync (False): the executor sleeps, rather than spins, while it waits.
        ipc_enabled (False): not served.
    """

    _fields = {"timing_enabled": False, "blocking_sync": False, "ipc_enabled": False}


class Event(_native.Event):
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
        if options.ipc_enabled:
            raise not_served("an event for other processes", "share within one session")
        self = _native.Event.__new__(cls)
        self._create(
            device._session, device._ordinal, options.timing_enabled, options.blocking_sync
        )
        self._device = device
        self._options = options
        self._recorded = False
        return self

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

    @property
    def is_timing_enabled(self):
        return bool(self._options.timing_enabled)

    @property
    def is_blocking_sync(self):
        return bool(self._options.blocking_sync)

    @property
    def is_ipc_enabled(self):
        return False

    @property
    def device(self):
        return self._device

    @property
    def handle(self):
        """The event's name in its session; not a CUevent."""
        return self._handle

    def close(self):
        """Destroys the event. It may be closed again."""
        self._close()

    def __repr__(self):
        state = ", closed" if self._closed else f" {self._handle:#x}"
        return f"<holdfast.core.Event{state}>"
