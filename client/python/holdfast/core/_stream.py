# SPDX-License-Identifier: Apache-2.0
from holdfast import _native
from holdfast.core import _foreign
from holdfast.core._closable import Closable
from holdfast.core._event import Event, EventOptions
from holdfast.core._options import Options, as_options, not_served

_ARRAY = "copy the array into a Buffer, and use a stream of the device"


class StreamOptions(Options):
    """Options of a stream.

    Fields:
        nonblocking (True): does not synchronise with the executor's legacy default stream.
        priority (None): lower is more urgent, within the device's range; None: 0.
    """

    _fields = {"nonblocking": True, "priority": None}


class Stream(_native.Stream, Closable):
    """An ordered queue of work on one device; made by ``Device.create_stream``."""

    def __new__(cls, *args, **kwargs):
        raise RuntimeError(
            "Stream objects cannot be instantiated directly. "
            "Please use Device APIs (create_stream)."
        )

    @classmethod
    def _make(cls, device, options):
        priority = 0 if options.priority is None else options.priority
        least, greatest = device._session._info(device._ordinal)["priorities"]
        # Both are 0 while the daemon does not know them yet.
        if (least, greatest) != (0, 0) and not greatest <= priority <= least:
            raise ValueError(f"priority={priority} is out of range [{greatest}, {least}]")
        self = _native.Stream.__new__(cls)
        self._create(device._session, device._ordinal, priority, not options.nonblocking)
        self._device = device
        # The GraphBuilder that records the stream's work, by a weak reference: the recording is
        # dropped with it.
        self._recorded_by = None
        self._nonblocking = bool(options.nonblocking)
        self._priority = priority
        self._name = self._handle
        # The CUstream of this process that acts as one with the stream; 0: there is none.
        self._cuda_handle = 0
        device._session._streams[self._name] = self
        return self

    def _pair_with(self, handle=None):
        """Pairs the stream with a CUstream of this process; None: makes one."""
        self._cuda_handle = _foreign.pair(self, handle)
        self._device._session._streams[self._cuda_handle] = self

    def _has_cuda_handle(self):
        """Whether ``handle`` is a CUstream. It becomes one where this process has loaded CUDA and
        the daemon is on this machine."""
        if self._cuda_handle == 0 and not self._is_capturing and _foreign.can_pair(self._device):
            self._pair_with()
        return self._cuda_handle != 0

    @classmethod
    def from_handle(cls, handle):
        """One more object for the stream of the current session that has this ``handle``; 0, 1 and
        2 are the default streams, as in CUDA. Of any other CUstream of this process, CuPy's or
        PyTorch's: a stream of the session that acts as one with it. The CUstream has to live as
        long."""
        from holdfast.core._borrowed_stream import of_handle

        return of_handle(handle)

    @classmethod
    def legacy_default(cls):
        """``LEGACY_DEFAULT_STREAM``, as cuda.core before 0.6 spells it."""
        from holdfast.core._borrowed_stream import LEGACY_DEFAULT_STREAM

        return LEGACY_DEFAULT_STREAM

    @classmethod
    def per_thread_default(cls):
        """``PER_THREAD_DEFAULT_STREAM``, as cuda.core before 0.6 spells it."""
        from holdfast.core._borrowed_stream import PER_THREAD_DEFAULT_STREAM

        return PER_THREAD_DEFAULT_STREAM

    def __cuda_stream__(self):
        from holdfast.core._borrowed_stream import handle_for_borrower

        return handle_for_borrower(self)

    def sync(self):
        """Waits until all work is done, and raises what has failed in the session."""
        self._sync()

    async def sync_async(self):
        """``sync`` for asyncio: other tasks run meanwhile."""
        from holdfast._async import run_async

        await run_async(self.sync)

    def record(self, event=None, options=None):
        """Marks this place of the stream, with ``event`` or a new one. Returns the event."""
        if event is None:
            event = Event._make(self._device, as_options(EventOptions, options))
        elif not isinstance(event, Event):
            raise TypeError(f"an Event expected, got {type(event).__name__}")
        elif event.is_ipc_enabled:
            raise TypeError(
                "IPC-enabled events should not be re-recorded, instead create a new event by "
                "supplying options."
            )
        self._record(event)
        event._recorded = True
        return event

    def wait(self, event_or_stream):
        """Lets work that comes from now on wait for an event, or for another stream's work."""
        if not isinstance(event_or_stream, (Event, Stream)):
            raise ValueError(
                f"only an Event or Stream can be waited, got {type(event_or_stream).__name__}"
            )
        if isinstance(event_or_stream, Stream):
            event_or_stream = event_or_stream._target()
        self._wait(event_or_stream)

    def _target(self):
        """The stream that takes the work."""
        return self

    @property
    def _builder(self):
        return None if self._recorded_by is None else self._recorded_by()

    def create_graph_builder(self):
        """A GraphBuilder that records this stream."""
        self._check_open()
        return self._make_graph_builder()

    @property
    def handle(self):
        """Where this process has loaded CUDA (CuPy, PyTorch): a CUstream of this process, for other
        libraries, that acts as one with this stream. Else the stream's name in its session.
        0: the stream is closed."""
        if self.is_closed:
            return 0
        return self._cuda_handle if self._has_cuda_handle() else self._handle

    @property
    def is_nonblocking(self):
        self._check_open()
        return self._nonblocking

    @property
    def priority(self):
        """The priority that the stream asked for. The daemon's policy (stream-priorities) may have
        given it another."""
        self._check_open()
        return self._priority

    @property
    def device(self):
        self._check_open()
        return self._device

    @property
    def context(self):
        return self.device.context

    @property
    def resources(self):
        raise not_served("a share of a device", "an executor has one context a device")

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        one, two = self._target(), other._target()
        return one._name == two._name and one._device._session is two._device._session

    def __hash__(self):
        return hash(self._name)

    def close(self):
        """Destroys the stream; its work is still carried out. It may be closed again."""
        self._close()

    def __repr__(self):
        if self._closed:
            return "<Stream, closed>"
        return f"<Stream handle={self.handle:#x} context={self.context.handle:#x}>"

    def _repr_html_(self):
        from holdfast import _html

        if self._closed:
            return _html.card("Stream", (("state", "closed"),))
        return _html.card("Stream", (("device", self.device), ("priority", self.priority)))


def keep_recorded(stream, *used):
    """If the stream is being recorded, what it was given is kept until the graph is made."""
    if stream._recorded_by is not None and (builder := stream._builder) is not None:
        builder._keep(*used)


def check_not_recorded(stream, what):
    if stream._builder is not None:
        raise RuntimeError(
            f"{what} cannot perform memory operations on a capturing stream "
            "(consider using GraphMemoryResource)."
        )


def check_stream(stream):
    """The stream, or that of a GraphBuilder; an exception that says that one is needed."""
    if stream is None:
        raise TypeError("stream is required and must not be None")
    if not isinstance(stream, Stream):
        recorded = getattr(stream, "_captured_stream_", None)
        if recorded is not None:
            recorded._check_open()
            return recorded
        if hasattr(stream, "__cuda_stream__"):
            from holdfast.core._borrowed_stream import borrowed

            return borrowed(None, stream)._target()
        raise TypeError(
            f"a Stream expected, got {type(stream).__name__}; Device.create_stream() makes one"
        )
    target = stream._target()
    target._check_open()
    return target
